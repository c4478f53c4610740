import { type ConformanceOptions, runKit } from "@devtool/conformance/operator";
import {
  type ConnectionOptions,
  findServer,
  trustIn,
} from "../connection/connection.ts";
import { isAbort, userMessage } from "../error-text.ts";
import { UsageError } from "../errors.ts";
import { type Io, interruptSignal } from "../io.ts";

/**
 * `devtool conformance`: the command of the conformance kit. It knows the token
 * of a server that runs here, and starts one for a program under test. What it
 * could not test has the exit code of a usage error.
 */
export async function conformance(
  url: string | undefined,
  options: ConformanceOptions & ConnectionOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const host = {
    stdout: io.stdout,
    async findAccess(url: string, signal: AbortSignal) {
      const found = await findServer({ ...options, url }, io, signal);
      const { token = "", certificate } = found ?? {};
      return certificate === undefined
        ? { token }
        : { token, trust: await trustIn(certificate) };
    },
    async startServer(workspace: string) {
      const { serveCodingAgent } = await import("@devtool/coding-agent");
      return serveCodingAgent({ workspace, sandbox: "none" });
    },
  };
  try {
    return await runKit(url, options, host, interrupt.signal);
  } catch (cause) {
    if (isAbort(cause)) throw cause;
    throw new UsageError(userMessage(cause), { cause });
  }
}
