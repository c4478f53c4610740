import type { ServerSettings } from "@devtool/server";
import type { OperatorConfig } from "./agents/agent-options.ts";
import { errorMessage } from "./errors.ts";
import { type Io, writeLine } from "./io.ts";

/**
 * The flag of `devtool serve` for the console. It overrides `[console]` of the
 * config file.
 */
export interface ConsoleFlag {
  readonly console?: boolean;
}

/**
 * Returns the console as the server's setting; nothing when it is switched off,
 * or was not built.
 */
export async function consoleOption(
  flag: ConsoleFlag,
  { config }: OperatorConfig,
  io: Pick<Io, "stderr">,
): Promise<Pick<ServerSettings, "site">> {
  if (flag.console === false || config.console?.enabled === false) return {};
  try {
    const { loadConsole } = await import("@devtool/console");
    return { site: await loadConsole() };
  } catch (reason) {
    writeLine(io.stderr, `devtool: no console: ${errorMessage(reason)}`);
    return {};
  }
}
