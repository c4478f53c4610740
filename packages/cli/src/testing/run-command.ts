import { PassThrough } from "node:stream";
import type { Io } from "../io.ts";
import { runProgram } from "../program.ts";

/** The input and surroundings of a command in a test. */
export interface PipedOptions {
  /** All of standard input. Default: nothing. */
  readonly stdin?: string | Uint8Array;
  /** Default: `NO_COLOR=1` alone. */
  readonly env?: Io["env"];
  /** Default: this process's. */
  readonly platform?: NodeJS.Platform;
}

/**
 * Returns streams that are no terminal, for a command in the process of the
 * test, and what was written to them so far.
 */
export function pipedIo({
  stdin = "",
  env = { NO_COLOR: "1" },
  platform = process.platform,
}: PipedOptions = {}): {
  readonly io: Io;
  out(): string;
  err(): string;
} {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io: Io = {
    stdin: new PassThrough().end(stdin),
    stdout,
    stderr,
    env,
    platform,
    interactive: false,
    onInterrupt: () => () => undefined,
    interrupt: () => undefined,
  };
  return { io, out: textOf(stdout), err: textOf(stderr) };
}

/**
 * Runs a command with nobody at a terminal. Returns its exit code and all that
 * it wrote.
 */
export async function runCommand(
  argv: readonly string[],
  options?: PipedOptions,
): Promise<{
  readonly code: number;
  readonly out: string;
  readonly err: string;
}> {
  const { io, out, err } = pipedIo(options);
  const code = await runProgram(argv, io);
  return { code, out: out(), err: err() };
}

function textOf(stream: PassThrough): () => string {
  let text = "";
  return () => {
    text += String(stream.read() ?? "");
    return text;
  };
}
