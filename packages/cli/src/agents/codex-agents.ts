import { codexAgent } from "@devtool/codex";
import type { Agent } from "@devtool/server";
import {
  type AgentPlace,
  agentEnvironment,
  findAgentProgram,
} from "./agent-programs.ts";
import { CODEX } from "./known-programs.ts";

/**
 * Variables that an agent of ACP gets from `@devtool/acp`. None of them can
 * hold a secret.
 */
const OF_EVERY_PROCESS: readonly string[] = [
  "HOME",
  "LANG",
  "LC_ALL",
  "TERM",
  "TMPDIR",
  "USER",
  "LOGNAME",
];

/**
 * Maximum time for a request to Codex, which starts with it, in milliseconds. A
 * large program takes long on a busy machine.
 */
const REQUEST_TIMEOUT_MS = 120_000;

/**
 * Creates an agent that is the installed Codex. Throws an error that says how
 * to install it.
 */
export async function createCodexAgent({
  setting,
  ...place
}: AgentPlace & { readonly setting: string }): Promise<Agent> {
  const program = findAgentProgram(CODEX.program, {
    ...place,
    setting,
    remedy: `run ${CODEX.install}`,
  });
  return codexAgent({
    command: [program, ...CODEX.args],
    environment: agentEnvironment(
      [...OF_EVERY_PROCESS, ...CODEX.variables],
      place,
    ),
    approvalMode: place.approvalMode,
    permission: await place.permission(),
    ide: place.ide,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
}
