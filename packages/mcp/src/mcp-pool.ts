import { toJson } from "@bufbuild/protobuf";
import type {
  McpPrompt,
  McpServerStatus,
  McpSession,
  OpenMcp,
  Tool,
} from "@devtool/coding-agent/tool";
import { callerOfTask } from "@devtool/internal/task-caller";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { quoted } from "@devtool/server/agent";
import type { FetchLike } from "@modelcontextprotocol/client";
import { assertUsable } from "./assert-usable.ts";
import type {
  McpServers,
  McpServersOptions,
  SharedConnections,
} from "./mcp-servers.ts";
import type { McpSupervisor } from "./mcp-supervisor.ts";

/**
 * The number of sets of servers that stay connected. Beyond it, those that
 * nobody uses are ended, the least recently used first.
 */
const MAX_SETS = 16;

/** The options of `McpPool`. `servers` are the operator's. */
export interface McpPoolOptions
  extends Omit<
    McpServersOptions,
    "workspacePath" | "fetchFor" | "originOf" | "namesakes" | "shared"
  > {
  /**
   * Returns the fetch for a server that a principal brings, whose address
   * cannot be trusted.
   */
  readonly clientFetch: (server: McpServer, principal: string) => FetchLike;
}

/**
 * The MCP servers of all sessions.
 *
 * Sessions of the same principal, in the same workspace, with the same servers
 * share one set of them, and sets have one connection to each server between
 * them. A set is created when a session first needs it.
 */
export class McpPool implements OpenMcp {
  readonly #options: McpPoolOptions;
  readonly #sets = new Map<string, SharedSet>();
  readonly #connections = new Connections();

  constructor(options: McpPoolOptions) {
    this.#options = options;
  }

  assertUsable(servers: readonly McpServer[]): void {
    assertUsable(servers);
  }

  async tools(
    session: McpSession,
    signal: AbortSignal,
  ): Promise<readonly Tool[]> {
    return (await this.#use(session, (all) => all.tools(signal))) ?? [];
  }

  async prompts(
    session: McpSession,
    signal: AbortSignal,
  ): Promise<readonly McpPrompt[]> {
    return (await this.#use(session, (all) => all.prompts(signal))) ?? [];
  }

  async status(
    session: McpSession,
    signal: AbortSignal,
  ): Promise<readonly McpServerStatus[]> {
    await this.#use(session, (all) => all.connect(signal));
    return this.currentStatus(session);
  }

  async currentStatus(
    session: McpSession,
  ): Promise<readonly McpServerStatus[]> {
    const operators = namesOf(this.#serversFor(session));
    const unused = session.clientServers
      .filter(({ name }) => operators.has(name))
      .map(({ name }) => ({
        name,
        state: "failed" as const,
        reason: `MCP server ${quoted(name)} of the client is not used: the operator has one of that name`,
        toolCount: 0,
      }));
    const used = await this.#use(session, async (all) => all.status());
    return [...(used ?? []), ...unused];
  }

  async waitFor(
    session: McpSession,
    server: string,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#use(session, (all) => all.waitFor(server, signal));
  }

  async hold(session: McpSession): Promise<AsyncDisposable> {
    const set = await this.#take(session);
    return {
      [Symbol.asyncDispose]: async () => set && (await this.#release(set)),
    };
  }

  async refresh(session: McpSession, signal: AbortSignal): Promise<void> {
    await this.#use(session, (all) => all.refresh(signal));
  }

  /**
   * Returns the servers of a session; undefined when it has none. Throws a
   * `DevtoolError` for settings that cannot be used.
   */
  async get(session: McpSession): Promise<McpServers | undefined> {
    return this.#use(session, async (all) => all);
  }

  /** Asks the servers of a session, which are not ended meanwhile. */
  async #use<T>(
    session: McpSession,
    ask: (servers: McpServers) => Promise<T>,
  ): Promise<T | undefined> {
    const set = await this.#take(session);
    if (!set) return undefined;
    try {
      return await ask(set.servers);
    } finally {
      await this.#release(set);
    }
  }

  /** Returns the set of a session, which has one user more until its release. */
  async #take(session: McpSession): Promise<SharedSet | undefined> {
    const { principal, workspacePath, clientServers: brought } = session;
    const { clientFetch, authorizationOf, ...rest } = this.#options;
    const { servers: all, ...options } = rest;
    const servers = this.#serversFor(session);
    const names = namesOf(servers);
    const clientServers = brought.filter(({ name }) => !names.has(name));
    if (servers.length + clientServers.length === 0) return undefined;
    // Most sessions have no servers, so their code is loaded here.
    const { McpServers } = await import("./mcp-servers.ts");
    const key = JSON.stringify([
      principal,
      workspacePath,
      servers.map(({ name }) => name),
      clientServers.map((server) => toJson(McpServerSchema, server)),
    ]);
    const broughtNames = namesOf(clientServers);
    const originOf = ({ name }: McpServer) =>
      broughtNames.has(name) ? "client" : "operator";
    const make = (): McpServers =>
      new McpServers({
        ...options,
        // A session to which servers are added keeps those that it had.
        shared: this.#connections.of((server) =>
          JSON.stringify([
            principal,
            workspacePath,
            originOf(server),
            toJson(McpServerSchema, server),
          ]),
        ),
        servers: [...servers, ...clientServers],
        // To refuse the name of a server that the caller does not have would
        // say that there is one.
        namesakes: namesOf(all).difference(names),
        workspacePath,
        originOf,
        fetchFor: (server) =>
          originOf(server) === "client"
            ? clientFetch(server, principal)
            : globalThis.fetch,
        // A client's server, which may be anywhere, gets no login of the
        // operator's.
        authorizationOf: (server) =>
          originOf(server) === "client" ? undefined : authorizationOf?.(server),
      });
    const found = this.#sets.get(key) ?? { servers: make(), users: 0 };
    found.users++;
    // Moves the set to the end: the order of the map is the order of last use.
    this.#sets.delete(key);
    this.#sets.set(key, found);
    await this.#endUnused();
    return found;
  }

  async #release(set: SharedSet): Promise<void> {
    set.users--;
    await this.#endUnused();
  }

  async #endUnused(): Promise<void> {
    for (const [key, { servers, users }] of this.#sets) {
      if (this.#sets.size <= MAX_SETS) return;
      if (users > 0) continue;
      this.#sets.delete(key);
      await servers[Symbol.asyncDispose]();
    }
  }

  /** Returns the operator's servers that the caller of a session has. */
  #serversFor({ principal, roles }: McpSession): readonly McpServer[] {
    return this.#options.servers.filter((server) =>
      isFor(server, principal, roles),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const sets = [...this.#sets.values()];
    this.#sets.clear();
    await Promise.allSettled(
      sets.map(({ servers }) => servers[Symbol.asyncDispose]()),
    );
  }
}

/** The servers of sessions that share them. */
interface SharedSet {
  readonly servers: McpServers;
  /** How many turns and requests use them now. */
  users: number;
}

/** The connections of all sets, by what a session must share to use one. */
class Connections {
  readonly #byKey = new Map<
    string,
    { supervisor: McpSupervisor; sets: number }
  >();

  /** Returns the connections for one set, whose servers have these keys. */
  of(keyOf: (server: McpServer) => string): SharedConnections {
    return {
      take: (server, make) => {
        const key = keyOf(server);
        const shared = this.#byKey.get(key) ?? { supervisor: make(), sets: 0 };
        shared.sets++;
        this.#byKey.set(key, shared);
        return shared.supervisor;
      },
      release: async (supervisor) => {
        const key = keyOf(supervisor.server);
        const shared = this.#byKey.get(key);
        if (shared && --shared.sets > 0) return;
        this.#byKey.delete(key);
        await supervisor[Symbol.asyncDispose]();
      },
    };
  }
}

function namesOf(servers: readonly McpServer[]): ReadonlySet<string> {
  return new Set(servers.map(({ name }) => name));
}

/** Whether the operator gives a server to a caller. */
function isFor(
  { principals, roles }: McpServer,
  principal: string,
  own: readonly string[] = [],
): boolean {
  return (
    principals.length + roles.length === 0 ||
    principals.includes(callerOfTask({ principal }).principal) ||
    roles.some((role) => own.includes(role))
  );
}
