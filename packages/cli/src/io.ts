import type { Readable, Writable } from "node:stream";

/**
 * The streams and the environment of a command: those of the process, or of a
 * test.
 */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * The operating system, as `process.platform` names it. Default: this
   * process's.
   */
  readonly platform?: NodeJS.Platform;
  /**
   * Whether a person can be asked: standard input is a terminal, and so is
   * standard output or standard error.
   */
  readonly interactive: boolean;
  /**
   * Calls the listener each time the user presses Ctrl-C. Returns a function
   * that stops this.
   */
  onInterrupt(listener: () => void): () => void;
  /**
   * Reports a Ctrl-C that came as a key and not as a signal, as it does in raw
   * mode.
   */
  interrupt(): void;
}

/** Writes a line to a stream. */
export function writeLine(stream: Writable, line: string): void {
  stream.write(`${line}\n`);
}

/** Returns whether a stream is a terminal. */
export function isTerminal(stream: Readable | Writable): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

/** Returns a signal that aborts on Ctrl-C. */
export function interruptSignal(
  io: Pick<Io, "onInterrupt">,
): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const stop = io.onInterrupt(() => controller.abort());
  return { signal: controller.signal, [Symbol.dispose]: stop };
}
