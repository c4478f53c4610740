import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Mcp, McpServices } from "@devtool/coding-agent/tool";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { assertTarget, checkedFetch, VERSION } from "@devtool/server/agent";
import { McpPool } from "./mcp-pool.ts";
import type { McpAuthorization } from "./mcp-transport.ts";
import { runnerNotice } from "./server-place.ts";

/** The options of MCP servers. */
export interface McpOptions {
  /** The servers of every session. Default: none but those that clients bring, as far as the server's `clientMcpServers` lets them. */
  readonly servers?: readonly MessageInitShape<typeof McpServerSchema>[];
  /** Which servers of clients may be reached although they are not public, as `host:port`. Default: none. */
  readonly targets?: readonly string[];
  /** Authorizes the agent at a server that requires OAuth; undefined for one that does not. Default: none requires it. */
  readonly authorize?: (server: McpServer) => McpAuthorization | undefined;
}

/**
 * Creates the MCP servers of a coding agent: `codingAgent({ mcp: createMcp({ servers }) })`. The SDK is loaded with the first server
 * that is needed. Throws a `DevtoolError` for a target that is not `host:port`.
 */
export function createMcp({ servers = [], targets = [], authorize }: McpOptions = {}): Mcp {
  for (const target of targets) assertTarget("mcp_targets", target);
  const operators = servers.map((server) => create(McpServerSchema, server));
  return {
    open: (services) => {
      for (const notice of operators.flatMap((server) => runnerNotice(server) ?? [])) services.onNotice(notice);
      return new McpPool({
        servers: operators,
        environment: services.environment,
        now: () => performance.now(),
        clientInfo: { name: "devtool", version: VERSION },
        sample: services.sample,
        clientFetch: clientFetch(targets, services),
        ...(authorize && { authorizationOf: authorize }),
        onNotice: services.onNotice,
      });
    },
  };
}

/** Addresses that a client names are checked, unless clients may start programs, which reach what they want. */
function clientFetch(
  allowedHosts: readonly string[],
  { clientMcpServers, ownPorts }: McpServices,
): ReturnType<typeof checkedFetch> {
  if (clientMcpServers === "all") return globalThis.fetch;
  const allowing = (target: string): string => `mcp_targets = [${JSON.stringify(target)}]`;
  return checkedFetch({ allowedHosts, ownPorts, allowing });
}
