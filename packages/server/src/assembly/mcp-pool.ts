import type { McpServer } from "@devtool/schema";
import type { McpServers, McpServersOptions } from "../tool/mcp/mcp-servers.ts";

/** So many sets of servers stay connected; the longest unused are ended first. */
const MAX_SETS = 16;

/** Whose MCP servers are wanted: servers are never shared among principals or workspaces. */
export interface McpOwner {
  readonly principal: string;
  readonly workspacePath: string;
  readonly servers: readonly McpServer[];
}

/** What every set of servers is made with. */
export type McpPoolOptions = Omit<McpServersOptions, "servers" | "workspacePath">;

/** The MCP servers of sessions: started when a session needs them first, and shared by the tasks of the same sessions. */
export class McpPool implements AsyncDisposable {
  readonly #options: McpPoolOptions;
  readonly #sets = new Map<string, Promise<McpServers>>();

  constructor(options: McpPoolOptions) {
    this.#options = options;
  }

  /** Gets the servers of a session. Throws for servers that cannot be used as they are described. */
  async get({ principal, workspacePath, servers }: McpOwner): Promise<McpServers> {
    const key = JSON.stringify([principal, workspacePath, servers]);
    const found = this.#sets.get(key) ?? this.#start(servers, workspacePath);
    // Set anew, so that the order of the map is the order of use.
    this.#sets.delete(key);
    this.#sets.set(key, found);
    found.catch(() => this.#sets.delete(key));
    await this.#endUnused();
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const sets = [...this.#sets.values()];
    this.#sets.clear();
    await Promise.allSettled(sets.map(async (set) => (await set)[Symbol.asyncDispose]()));
  }

  async #start(servers: readonly McpServer[], workspacePath: string): Promise<McpServers> {
    const { McpServers } = await import("../tool/mcp/mcp-servers.ts");
    return new McpServers({ ...this.#options, servers, workspacePath });
  }

  async #endUnused(): Promise<void> {
    for (const [key, set] of this.#sets) {
      if (this.#sets.size <= MAX_SETS) return;
      this.#sets.delete(key);
      await (await set)[Symbol.asyncDispose]();
    }
  }
}
