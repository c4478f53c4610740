import { type JsonValue, toJson } from "@bufbuild/protobuf";
import type { McpPrompt, McpServerStatus, McpSession, OpenMcp, Tool } from "@devtool/coding-agent/tool";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { McpServers, type McpServersOptions } from "./mcp-servers.ts";

/** The maximum number of sets of servers that stay connected; the longest unused are ended first. */
const MAX_SETS = 16;

/** The options of all sets of servers; `servers` are the operator's. */
export interface McpPoolOptions extends Omit<McpServersOptions, "workspacePath" | "fetchFor" | "originOf"> {
  /** Makes the requests to servers that clients brought, whose addresses are anybody's. */
  readonly clientFetch: NonNullable<ReturnType<NonNullable<McpServersOptions["fetchFor"]>>>;
}

/** The MCP servers of sessions: started when a session needs them first, and shared by the tasks of the same sessions. */
export class McpPool implements OpenMcp {
  readonly #options: McpPoolOptions;
  readonly #sets = new Map<string, McpServers>();

  constructor(options: McpPoolOptions) {
    this.#options = options;
  }

  async tools(session: McpSession, signal: AbortSignal): Promise<readonly Tool[]> {
    return (await this.get(session))?.tools(signal) ?? [];
  }

  async prompts(session: McpSession, signal: AbortSignal): Promise<readonly McpPrompt[]> {
    return (await this.get(session))?.prompts(signal) ?? [];
  }

  async status(session: McpSession, signal: AbortSignal): Promise<readonly McpServerStatus[]> {
    const servers = await this.get(session);
    await servers?.tools(signal);
    return servers?.status() ?? [];
  }

  async refresh(session: McpSession, signal: AbortSignal): Promise<void> {
    await (await this.get(session))?.refresh(signal);
  }

  /** Returns the servers of a session; undefined when it has none. Throws for servers that cannot be used as they are described. */
  async get({ principal, workspacePath, clientServers: brought }: McpSession): Promise<McpServers | undefined> {
    const { servers } = this.#options;
    const names = new Set(servers.map(({ name }) => name));
    const clientServers = brought.filter(({ name }) => !names.has(name));
    if (servers.length + clientServers.length === 0) return undefined;
    const key = JSON.stringify([principal, workspacePath, clientServers.map(jsonOf)]);
    const found = this.#sets.get(key) ?? this.#create(clientServers, workspacePath);
    // Set anew, so that the order of the map is the order of use.
    this.#sets.delete(key);
    this.#sets.set(key, found);
    await this.#endUnused();
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const sets = [...this.#sets.values()];
    this.#sets.clear();
    await Promise.allSettled(sets.map((set) => set[Symbol.asyncDispose]()));
  }

  #create(clientServers: readonly McpServer[], workspacePath: string): McpServers {
    const { clientFetch, servers, ...options } = this.#options;
    return new McpServers({
      ...options,
      servers: [...servers, ...clientServers],
      workspacePath,
      originOf: (server) => (clientServers.includes(server) ? "client" : "operator"),
      fetchFor: (server) => (clientServers.includes(server) ? clientFetch : globalThis.fetch),
    });
  }

  async #endUnused(): Promise<void> {
    for (const [key, set] of this.#sets) {
      if (this.#sets.size <= MAX_SETS) return;
      this.#sets.delete(key);
      await set[Symbol.asyncDispose]();
    }
  }
}

function jsonOf(server: McpServer): JsonValue {
  return toJson(McpServerSchema, server);
}
