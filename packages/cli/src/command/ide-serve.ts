import { serveEditor } from "@devtool/ide/operator";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal } from "../io.ts";

/**
 * `devtool ide serve`: the companion of the editor that started it, with the
 * messages of `proto/devtool/ide/v1alpha/stdio.proto`, a line each.
 *
 * Ends when the editor closes standard input, on SIGTERM, SIGHUP or Ctrl-C.
 */
export async function ideServe(io: Io): Promise<number> {
  using interrupt = interruptSignal(io);
  const ended = new AbortController();
  const end = (): void => ended.abort();
  // Editors end their child processes so; the files for agents must go first.
  process.once("SIGTERM", end).once("SIGHUP", end);
  try {
    await serveEditor(
      { input: io.stdin, output: io.stdout, env: io.env },
      AbortSignal.any([interrupt.signal, ended.signal]),
    );
    return ExitCode.OK;
  } finally {
    process.off("SIGTERM", end).off("SIGHUP", end);
  }
}
