import { delimiter } from "node:path";
import type { Environment } from "../discovery/places.ts";
import type { Candidate } from "./candidate.ts";

/** In place of the path of a file. */
export const VARIABLES_PATH = "GEMINI_CLI_IDE_SERVER_PORT";

/**
 * Puts what the variables of a terminal say among the files that Gemini CLI
 * considers, in its order: they count when there is no file, and after the
 * chosen file when nobody answers at its port.
 */
export function withVariables(
  files: readonly Candidate[],
  env: Environment,
): readonly Candidate[] {
  const { [VARIABLES_PATH]: given } = env;
  if (!given) return files;
  const port = Number.parseInt(given, 10) || 0;
  const token = env.GEMINI_CLI_IDE_AUTH_TOKEN ?? "";
  const [chosen, ...others] = files;
  if (chosen) {
    if (chosen.port === port) return files;
    // All but the port is still that of the file.
    const same = { ...chosen, token: chosen.token || token };
    return [
      chosen,
      { ...same, path: VARIABLES_PATH, mode: 0, port },
      ...others,
    ];
  }
  const { GEMINI_CLI_IDE_WORKSPACE_PATH: folders = "" } = env;
  return [
    {
      path: VARIABLES_PATH,
      unreadable: undefined,
      mode: 0,
      writtenAtMs: 0,
      port,
      token,
      folders: folders.split(delimiter).filter((path) => path !== ""),
      editor: "",
      pid: 0,
      isLegacy: false,
    },
  ];
}
