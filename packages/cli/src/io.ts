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
}

/** Writes a line. */
export function writeLine(stream: Writable, line: string): void {
  stream.write(`${line}\n`);
}
