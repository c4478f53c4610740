import { serveAcp, stdioStream } from "@devtool/acp/port";
import { createNotifier } from "../connection/connection.ts";
import { type EditorOptions, EditorPorts } from "../editor-ports.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal } from "../io.ts";

/** The options of `devtool acp`. */
interface AcpOptions extends EditorOptions {
  /** Models that the editor offers. */
  readonly model?: readonly string[];
}

/**
 * `devtool acp`: an ACP agent on standard input and output, in front of an
 * agent server.
 *
 * Standard output carries frames of ACP alone. Ends when the editor closes
 * standard input; tasks of a running server go on.
 */
export async function acp(options: AcpOptions, io: Io): Promise<number> {
  // The models that the editor offers are not the model of a server that is
  // started for it.
  const { model, ...where } = options;
  await using ports = new EditorPorts(where, io);
  using interrupt = interruptSignal(io);
  await serveAcp(
    {
      stream: stdioStream(io.stdin, io.stdout),
      connect: (cwd) => ports.find(cwd),
      log: createNotifier(io),
      ...(model && { models: model }),
    },
    interrupt.signal,
  );
  return ExitCode.OK;
}
