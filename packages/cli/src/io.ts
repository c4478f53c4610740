import type { Readable, Writable } from "node:stream";

/** What a command talks to; the process's own, or a test's. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The operating system, as `process.platform` names it. Default: this process's. */
  readonly platform?: NodeJS.Platform;
  /** Whether a person can be asked: standard input is a terminal, and so is standard output or standard error. */
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

/** Whether a stream is a terminal. */
export function isTerminal(stream: Readable | Writable): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

/** Where a person is asked: standard output, or standard error when only that is a terminal. */
export function personStream({ stdout, stderr }: Pick<Io, "stdout" | "stderr">): Writable {
  return !isTerminal(stdout) && isTerminal(stderr) ? stderr : stdout;
}
