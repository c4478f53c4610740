import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Mcp } from "@devtool/coding-agent/tool";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import {
  assertTarget,
  checkedFetch,
  quoted,
  VERSION,
} from "@devtool/server/agent";
import type { FetchLike } from "@modelcontextprotocol/client";
import { McpPool } from "./mcp-pool.ts";
import type { McpAuthorization } from "./mcp-transport.ts";
import { runnerNotice } from "./server-place.ts";

/** The options of `createMcp`. */
export interface McpOptions {
  /**
   * The operator's servers, which every session has.
   *
   * Sessions also have the servers that their clients bring, as far as the
   * server's `clientMcpServers` allows that, and with names that no operator's
   * server has. Default: none.
   */
  readonly servers?: readonly MessageInitShape<typeof McpServerSchema>[];
  /**
   * The addresses, as `host:port` or `host:*`, of clients' servers that may be
   * reached although they are not public. Default: none.
   */
  readonly targets?: readonly string[];
  /**
   * Whether the operator's own client may bring servers at a loopback address,
   * such as an editor's, to a server that only this machine reaches
   * (`AgentServices.isLocal`). Default: false.
   */
  readonly operatorLoopback?: boolean;
  /**
   * Returns how to authorize at a server of the operator's that requires OAuth;
   * undefined for a server that does not. Default: none requires it.
   */
  readonly authorize?: (server: McpServer) => McpAuthorization | undefined;
}

/**
 * Creates the MCP servers of a coding agent.
 *
 * ```ts
 * const agent = codingAgent({ mcp: createMcp({ servers }) });
 * ```
 *
 * Their tools are named `mcp__<server>__<tool>`, at most 512 of each server.
 * Servers are started, and the SDK is loaded, when a session first needs them.
 * A turn waits ten seconds for them, and goes on without those that are not
 * ready. A server that fails is started again when it is next needed, and after
 * five failures within three minutes only by a refresh.
 *
 * Throws `Code.InvalidArgument` for a target that is neither `host:port` nor
 * `host:*`. Settings that cannot be used, such as two servers of one name, fail
 * the first turn that needs them.
 */
export function createMcp({
  servers = [],
  targets = [],
  operatorLoopback = false,
  authorize,
}: McpOptions = {}): Mcp {
  for (const target of targets) assertTarget("mcp_targets", target);
  const operators = servers.map((server) => create(McpServerSchema, server));
  return {
    open: (services) => {
      for (const notice of operators.flatMap(
        (server) => runnerNotice(server) ?? [],
      )) {
        services.onNotice(notice);
      }
      for (const { name, roles } of services.hasRoles ? [] : operators) {
        if (roles.length === 0) continue;
        services.onNotice(
          `MCP server ${quoted(name)} is for role ${quoted(roles[0] ?? "")}, which no caller has: set roles_claim or certificate_roles_attribute`,
        );
      }
      const clientFetch = (server: McpServer, principal: string): FetchLike => {
        // Programs that clients bring can reach any address anyway.
        if (services.clientMcpServers === "all") return globalThis.fetch;
        const isOperator = operatorLoopback && principal === services.operator;
        return checkedFetch({
          allowedHosts:
            isOperator && services.isLocal
              ? [...targets, ...loopbackTarget(server)]
              : targets,
          ownPorts: services.ownPorts,
          allowing: (target) => `mcp_targets = [${JSON.stringify(target)}]`,
        });
      };
      return new McpPool({
        servers: operators,
        environment: services.environment,
        confine: services.confine,
        now: () => performance.now(),
        clientInfo: { name: "devtool", version: VERSION },
        clientFetch,
        authorizationOf: authorize,
        onNotice: services.onNotice,
      });
    },
  };
}

/**
 * Returns the one target that a server at a loopback address has, so that it
 * leads to no other port; none for any other server, whose host or redirect
 * could lead to this machine.
 */
function loopbackTarget({ transport }: McpServer): string[] {
  if (transport.case !== "http" && transport.case !== "sse") return [];
  const url = URL.parse(transport.value.url);
  if (!url || !/^(localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname))
    return [];
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return [`${url.hostname}:${port}`];
}
