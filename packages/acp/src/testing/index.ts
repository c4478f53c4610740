// The names of @devtool/acp/testing: an ACP agent for tests. Not part of the
// published package.
import { fileURLToPath } from "node:url";
import type { AcpCommand } from "../agent/acp-agent-options.ts";

export type { AcpAgentOptions, AcpPipe } from "../agent/acp-agent-options.ts";

/**
 * Returns the command of the fake ACP agent, with some of its flags; see
 * fake-acp-agent.ts.
 */
export function fakeAgentCommand(...flags: readonly string[]): AcpCommand {
  const path = fileURLToPath(new URL("fake-acp-agent.ts", import.meta.url));
  // Agents do not inherit this variable, without which each start compiles the
  // SDK again.
  const compileCache = `NODE_COMPILE_CACHE=${process.env.NODE_COMPILE_CACHE ?? ""}`;
  const node = [process.execPath, "--disable-warning=ExperimentalWarning"];
  return { command: "env", args: [compileCache, ...node, path, ...flags] };
}
