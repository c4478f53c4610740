import type { Readable, Writable } from "node:stream";

/** What a command talks to; the process's own, or a test's. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a person sits at both ends. */
  readonly interactive: boolean;
  /** Calls back each time the person presses Ctrl-C; gives the way to stop listening. */
  onInterrupt(listener: () => void): () => void;
  /** Tells the listeners of a Ctrl-C that came as a key and not as a signal, as it does while a line is edited. */
  interrupt(): void;
}

/** Writes a line. */
export function writeLine(stream: Writable, line: string): void {
  stream.write(`${line}\n`);
}
