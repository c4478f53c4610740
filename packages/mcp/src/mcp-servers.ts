import { setTimeout as delay } from "node:timers/promises";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type {
  McpPrompt,
  McpServerStatus,
  Tool,
} from "@devtool/coding-agent/tool";
import { abortable } from "@devtool/internal/abortable";
import { keepStart } from "@devtool/internal/cut-text";
import { defined } from "@devtool/internal/json";
import type { McpServer } from "@devtool/schema";
import { invalid } from "@devtool/server/agent";
import type { ReadResourceResult } from "@modelcontextprotocol/client";
import { assertUsable } from "./assert-usable.ts";
import { describeError } from "./describe-error.ts";
import type { ListKind } from "./list-items.ts";
import type { McpConnection, ResourceRequest } from "./mcp-connection.ts";
import { createMcpPrompt } from "./mcp-prompts.ts";
import { McpSupervisor, type SupervisorOptions } from "./mcp-supervisor.ts";
import { createMcpTool } from "./mcp-tool.ts";
import { type McpResource, readMcpResourceTool } from "./read-mcp-resource.ts";
import { serverHash } from "./server-hash.ts";
import { serverPlace } from "./server-place.ts";
import type { ToolDefinition } from "./tool-definition.ts";
import { qualifyToolNames } from "./tool-name.ts";

/** The options of `McpServers`. */
export interface McpServersOptions
  extends Omit<SupervisorOptions, "connectTimeoutMs"> {
  readonly servers: readonly McpServer[];
  /**
   * The names of those servers that the operator calls others by, which the
   * session does not have. Default: none.
   */
  readonly namesakes?: ReadonlySet<string>;
  /**
   * The connections that sets of servers share. Default: each has its own.
   */
  readonly shared?: SharedConnections;
  /** Receives a sentence for a person when a server cannot be used. */
  readonly onNotice: (text: string) => void;
  /**
   * The timeout of a connection attempt, in milliseconds. Default: 60,000,
   * since starting a server may install it first.
   */
  readonly connectTimeoutMs?: number;
  /**
   * The time that a turn waits for servers that are not connected yet, in
   * milliseconds. Default: 10,000.
   */
  readonly waitMs?: number;
  /**
   * The maximum length of a result, in characters; the rest is cut. Default:
   * 262,144.
   */
  readonly maxOutputLength?: number;
}

/** Connections to servers, each for as long as a set of servers uses it. */
export interface SharedConnections {
  /** Returns the connection to a server, made by `make` where there is none. */
  take(server: McpServer, make: () => McpSupervisor): McpSupervisor;
  /** Ends a connection that no other set uses. */
  release(supervisor: McpSupervisor): Promise<void>;
}

/** The default timeout of a call without progress, in milliseconds. */
const DEFAULT_CALL_TIMEOUT_MS = 60_000;
/**
 * The maximum number of tools of one server: more than any model can choose
 * from.
 */
const MAX_TOOLS = 512;
/**
 * The wait between two tries to connect to a server for a call that was picked
 * up, in milliseconds. It doubles each time, up to the maximum.
 */
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;
/** How long `connect` waits for a server, in milliseconds. */
const CONNECT_WAIT_MS = 3000;
/** The maximum length of a notice, in characters. */
const MAX_NOTICE_LENGTH = 2000;
const DEFAULT_MAX_OUTPUT_LENGTH: number = 256 * 1024;

/**
 * The MCP servers of one session: their tools, prompts and resources.
 *
 * Servers are connected when they are first needed, and ended when this is
 * disposed of. A server that fails does not affect the others. A request of a
 * server is put to the user of its newest call, so users must not share
 * servers.
 */
export class McpServers implements AsyncDisposable {
  readonly #options: McpServersOptions;
  readonly #supervisors: readonly McpSupervisor[];
  readonly #toolCounts = new Map<string, number>();
  readonly #noticed = new Map<string, string>();

  /**
   * Throws a `DevtoolError` for servers without a name, with the same name, or
   * without a usable address or command.
   */
  constructor(options: McpServersOptions) {
    assertUsable(options.servers);
    this.#options = options;
    const { connectTimeoutMs = 60_000 } = options;
    this.#supervisors = options.servers.map((server) => {
      const make = () =>
        new McpSupervisor(server, { ...options, connectTimeoutMs });
      return options.shared?.take(server, make) ?? make();
    });
  }

  /**
   * Returns the tools of the connected servers, under unique names. If there
   * are resources, the last tool reads them.
   */
  async tools(signal: AbortSignal): Promise<readonly Tool[]> {
    const offers = await this.#askEach(
      async (supervisor, connection) => [
        {
          tools: await this.#listTools(supervisor, connection, signal),
          resources: await this.#listResources(supervisor, connection, signal),
        },
      ],
      signal,
    );
    const { maxOutputLength = DEFAULT_MAX_OUTPUT_LENGTH } = this.#options;
    const named = qualifyToolNames(offers.flatMap(({ tools }) => tools));
    const tools = [...named].map(
      ([qualifiedName, { supervisor, connection, definition }]) => {
        const { server } = supervisor;
        return createMcpTool({
          qualifiedName,
          definition,
          supervisor,
          place: this.#describePlace(server),
          isNamesake: this.#isNamesake(server),
          validator: connection.validator,
          callTimeoutMs: server.callTimeout
            ? durationMs(server.callTimeout)
            : DEFAULT_CALL_TIMEOUT_MS,
          maxOutputLength,
          now: this.#options.now,
        });
      },
    );
    const resources = offers.flatMap((offer) => offer.resources);
    const read = this.#readResource.bind(this);
    return resources.length === 0
      ? tools
      : [...tools, readMcpResourceTool(resources, read, maxOutputLength)];
  }

  /** Returns the prompts of the connected servers. */
  async prompts(signal: AbortSignal): Promise<readonly McpPrompt[]> {
    return this.#askEach(async (supervisor, connection) => {
      const prompts = await readList(
        connection,
        "prompts",
        connection.prompts(signal),
      );
      return prompts.map((prompt) => createMcpPrompt(supervisor, prompt));
    }, signal);
  }

  /** Returns the resources of the connected servers. */
  async resources(signal: AbortSignal): Promise<readonly McpResource[]> {
    return this.#askEach(
      (supervisor, connection) =>
        this.#listResources(supervisor, connection, signal),
      signal,
    );
  }

  /**
   * Returns the state of each server, in the order of the settings. Sends no
   * request.
   */
  status(): readonly McpServerStatus[] {
    return this.#supervisors.map(
      ({ server: { name }, state, leftOut, instructions }) =>
        defined({
          name,
          ...state,
          leftOut: leftOut.length > 0 ? leftOut : undefined,
          instructions: instructions === "" ? undefined : instructions,
          toolCount:
            state.state === "ready" ? (this.#toolCounts.get(name) ?? 0) : 0,
        }),
    );
  }

  /**
   * Connects to the servers that are not connected, and waits up to three
   * seconds for them and their tools.
   */
  async connect(signal: AbortSignal): Promise<void> {
    const list = this.#listTools.bind(this);
    await this.#askEach(
      (supervisor, connection) => list(supervisor, connection, signal),
      signal,
      CONNECT_WAIT_MS,
    );
  }

  /**
   * Waits for a server until the signal aborts, however often it fails: a call
   * that was picked up has a task there. Resolves at once for a name that no
   * server has.
   */
  async waitFor(name: string, signal: AbortSignal): Promise<void> {
    const supervisor = this.#supervisors.find(
      ({ server }) => server.name === name,
    );
    if (!supervisor) return;
    for (let waitMs = FIRST_RETRY_MS; ; waitMs *= 2) {
      try {
        await supervisor.connection(signal);
        return;
      } catch (reason) {
        signal.throwIfAborted();
        const text = `a call waits for it: ${describeError(reason)}`;
        this.#noticeOnce(name, `MCP server ${JSON.stringify(name)}: ${text}`);
      }
      // The wait is longer here than between the tries of one that is needed.
      if (supervisor.state.state === "stopped") await supervisor.reset();
      const nextMs = Math.min(waitMs, MAX_RETRY_MS);
      await delay(nextMs, undefined, { signal });
    }
  }

  /** Ends all servers, clears their failures and connects again. */
  async refresh(signal: AbortSignal): Promise<readonly McpServerStatus[]> {
    await Promise.all(
      this.#supervisors.map((supervisor) => supervisor.reset()),
    );
    this.#noticed.clear();
    await this.tools(signal);
    return this.status();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { shared } = this.#options;
    await Promise.all(
      this.#supervisors.map((supervisor) =>
        shared ? shared.release(supervisor) : supervisor[Symbol.asyncDispose](),
      ),
    );
  }

  #describePlace(server: McpServer): string {
    return serverPlace(server, this.#options.originOf?.(server) ?? "operator");
  }

  #isNamesake({ name }: McpServer): boolean {
    return this.#options.namesakes?.has(name) ?? false;
  }

  async #listResources(
    supervisor: McpSupervisor,
    connection: McpConnection,
    signal: AbortSignal,
  ): Promise<McpResource[]> {
    const [resources, templates] = await Promise.all([
      readList(connection, "resources", connection.resources(signal)),
      readList(
        connection,
        "resourceTemplates",
        connection.resourceTemplates(signal),
      ),
    ]);
    const { server } = supervisor;
    const read = new Map(connection.changes.resources);
    const origin = {
      server: server.name,
      serverHash: serverHash(server),
      place: this.#describePlace(server),
      isNamesake: this.#isNamesake(server),
    };
    const listed = resources.map(({ uri, name, title }) => {
      const change = read.get(uri) ?? "none";
      read.delete(uri);
      return { ...origin, uri, isTemplate: false, change, name: title ?? name };
    });
    // Those of templates are not listed.
    const name = "read before";
    const others = [...read].map(([uri, change]) => ({
      ...origin,
      ...{ uri, isTemplate: false, change, name },
    }));
    return [
      ...listed.filter(({ change }) => change !== "none"),
      ...others.filter(({ change }) => change !== "none"),
      ...listed.filter(({ change }) => change === "none"),
      ...templates.map(({ uriTemplate, name, title }) => ({
        ...origin,
        uri: uriTemplate,
        isTemplate: true,
        change: "none" as const,
        name: title ?? name,
      })),
    ];
  }

  async #listTools(
    supervisor: McpSupervisor,
    connection: McpConnection,
    signal: AbortSignal,
  ): Promise<FoundTool[]> {
    const { name: server, includeTools, excludeTools } = supervisor.server;
    const listed = await readList(
      connection,
      "tools",
      connection.tools(signal),
    );
    const taken = listed.filter(
      ({ name }) =>
        (includeTools.length === 0 || includeTools.includes(name)) &&
        !excludeTools.includes(name),
    );
    if (taken.length > MAX_TOOLS) {
      const text = `it has ${taken.length} tools: only the first ${MAX_TOOLS} are used`;
      connection.leftOut.add("tools", text);
    }
    this.#toolCounts.set(server, Math.min(taken.length, MAX_TOOLS));
    return taken.slice(0, MAX_TOOLS).map((definition) => ({
      server,
      tool: definition.name,
      supervisor,
      connection,
      definition,
    }));
  }

  /**
   * Asks every server that is connected in time. The others are left out, and a
   * notice says so once.
   */
  async #askEach<T>(
    ask: (
      supervisor: McpSupervisor,
      connection: McpConnection,
    ) => Promise<readonly T[]>,
    signal: AbortSignal,
    waitMs: number = this.#options.waitMs ?? 10_000,
  ): Promise<readonly T[]> {
    const asked = await Promise.all(
      this.#supervisors.map(async (supervisor) => {
        // A server that does not answer is waited for once, not in each turn.
        const restMs = Math.max(0, Math.ceil(waitMs - supervisor.connectingMs));
        const deadline = AbortSignal.any([signal, AbortSignal.timeout(restMs)]);
        try {
          deadline.throwIfAborted();
          const asking = supervisor
            .connection(deadline)
            .then((connection) => ask(supervisor, connection));
          const found = await abortable(asking, deadline);
          this.#noticeLeftOut(supervisor);
          return found;
        } catch (reason) {
          signal.throwIfAborted();
          const { server, state } = supervisor;
          const isLate =
            state.state === "connecting" || state.state === "ready";
          const late = `MCP server ${JSON.stringify(server.name)}: it is not ready yet`;
          this.#noticeOnce(
            server.name,
            isLate ? late : state.reason || describeError(reason),
          );
          return [];
        }
      }),
    );
    return asked.flat();
  }

  #noticeLeftOut({ server: { name }, leftOut }: McpSupervisor): void {
    if (leftOut.length === 0) return;
    const text = `MCP server ${JSON.stringify(name)}: ${leftOut.join("; ")}`;
    this.#noticeOnce(name, keepStart(text, MAX_NOTICE_LENGTH));
  }

  #noticeOnce(server: string, text: string): void {
    if (this.#noticed.get(server) === text) return;
    this.#noticed.set(server, text);
    this.#options.onNotice(text);
  }

  async #readResource(
    server: string,
    { uri, trace }: ResourceRequest,
    signal: AbortSignal,
  ): Promise<ReadResourceResult> {
    const supervisor = this.#supervisors.find(
      (one) => one.server.name === server,
    );
    if (!supervisor) throw invalid("server", server, "is not an MCP server");
    return supervisor.ask(
      (connection) => connection.readResource({ uri, trace }, signal),
      signal,
    );
  }
}

/**
 * Waits for a list of a server. One that cannot be read is empty, and costs
 * neither the other lists nor the server.
 */
async function readList<T>(
  connection: McpConnection,
  list: ListKind,
  items: Promise<readonly T[]>,
): Promise<readonly T[]> {
  try {
    return await items;
  } catch (reason) {
    if (connection.ended.aborted) throw reason;
    const text = `its ${list} cannot be listed: ${describeError(reason)}`;
    connection.leftOut.add(list, text);
    return [];
  }
}

interface FoundTool {
  /** The name of the server. */
  readonly server: string;
  /** The name of the tool at its server. */
  readonly tool: string;
  readonly supervisor: McpSupervisor;
  readonly connection: McpConnection;
  readonly definition: ToolDefinition;
}
