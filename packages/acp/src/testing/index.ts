// The names of @devtool/acp/testing: an ACP agent for tests. Not part of the published package.
import { fileURLToPath } from "node:url";
import type { AcpCommand } from "../agent/acp-agent-options.ts";

/** Returns the command of the fake ACP agent, with some of its flags; see fake-acp-agent.ts. */
export function fakeAgentCommand(...flags: readonly string[]): AcpCommand {
  const path = fileURLToPath(new URL("fake-acp-agent.ts", import.meta.url));
  return { command: process.execPath, args: ["--disable-warning=ExperimentalWarning", path, ...flags] };
}
