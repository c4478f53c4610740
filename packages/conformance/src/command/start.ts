/** Starts the command, once `main.ts` has checked the version of Node. */

import { visibleText } from "@devtool/internal/visible-text";
import { Command, CommanderError } from "commander";
import { KIT_VERSION } from "../version.ts";
import { addKitOptions, EXIT_CODES } from "./kit-options.ts";
import { runKit } from "./run-kit.ts";

const interrupt = new AbortController();
process.once("SIGINT", () => interrupt.abort());
const command = addKitOptions(new Command("devtool-conformance"))
  .argument("[url]", "URL of the server to test")
  .version(KIT_VERSION, "-V, --version", "print the version")
  .helpOption("-h, --help", "print this help")
  .addHelpText("after", EXIT_CODES)
  .exitOverride()
  .action(async (url, options) => {
    const host = {
      stdout: process.stdout,
      findAccess: async () => ({
        token: options.token ?? process.env.DEVTOOL_TOKEN ?? "",
      }),
    };
    process.exitCode = await runKit(url, options, host, interrupt.signal);
  });
try {
  await command.parseAsync();
} catch (reason) {
  process.exitCode = exitCodeOf(reason);
}
// Do not wait for connections that a server leaves open.
setTimeout(() => process.exit(), 1_000).unref();

function exitCodeOf(reason: unknown): number {
  if (reason instanceof CommanderError) return reason.exitCode === 0 ? 0 : 2;
  if (interrupt.signal.aborted) return 130;
  const message = reason instanceof Error ? reason.message : String(reason);
  process.stderr.write(`devtool-conformance: ${visibleText(message)}\n`);
  return 2;
}
