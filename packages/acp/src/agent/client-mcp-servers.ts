import type {
  McpServer as AcpMcpServer,
  McpCapabilities,
} from "@agentclientprotocol/sdk";
import type { McpServer } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";

/**
 * Returns the MCP servers of a session as the agent takes them. Throws for one
 * that the agent cannot reach.
 */
export function acpMcpServers(
  servers: readonly McpServer[],
  agent: string,
  capabilities: McpCapabilities,
): AcpMcpServer[] {
  return servers.map((server) => {
    const { name, transport } = server;
    if (transport.case === "stdio") {
      const { command, args, env } = transport.value;
      return { name, command, args: [...args], env: pairs(env) };
    }
    if (transport.case !== undefined && capabilities[transport.case] === true) {
      const { url, headers } = transport.value;
      return { type: transport.case, name, url, headers: pairs(headers) };
    }
    const kind = transport.case ?? "no transport";
    throw new DevtoolError(
      `MCP server ${quoted(name)} cannot be used: agent ${quoted(agent)} takes none over ${kind}`,
      Code.InvalidArgument,
    );
  });
}

function pairs(
  values: Readonly<Record<string, string>>,
): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
