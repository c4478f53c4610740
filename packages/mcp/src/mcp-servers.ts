import { durationMs } from "@bufbuild/protobuf/wkt";
import type { McpPrompt, McpServerStatus, Tool } from "@devtool/coding-agent/tool";
import type { McpServer } from "@devtool/schema";
import { abortable, invalid } from "@devtool/server/agent";
import type { McpConnection } from "./mcp-connection.ts";
import { mcpPrompt } from "./mcp-prompts.ts";
import { McpSupervisor, type SupervisorOptions } from "./mcp-supervisor.ts";
import { mcpTool } from "./mcp-tool.ts";
import { messageOf } from "./message-of.ts";
import { type McpResource, readMcpResourceTool } from "./read-mcp-resource.ts";
import { serverHash } from "./server-hash.ts";
import { serverPlace } from "./server-place.ts";
import type { ToolDefinition } from "./tool-definition.ts";
import { qualifyToolNames } from "./tool-name.ts";

/** The options of the servers of a session. */
export interface McpServersOptions extends Omit<SupervisorOptions, "connectTimeoutMs"> {
  readonly servers: readonly McpServer[];
  /** Is told when a server is not there, in words for a person. */
  readonly onNotice: (text: string) => void;
  /** The time that a server has to be there, in milliseconds. Default 60 seconds, for one that is installed first. */
  readonly connectTimeoutMs?: number;
  /** The time that a turn waits for servers that are not there yet, in milliseconds. Default 10 seconds. */
  readonly waitMs?: number;
  /** The maximum number of characters of a result that are kept. Default 262144. */
  readonly maxOutputBytes?: number;
}

const DEFAULT_CALL_TIMEOUT_MS = 60_000;
/** More tools of one server than any model can choose from. */
const MAX_TOOLS = 512;
const DEFAULT_MAX_OUTPUT_BYTES: number = 256 * 1024;

/**
 * The MCP servers of one session: their tools, prompts and resources. Connects when they are needed first, keeps them,
 * and ends them when it is disposed of. One that is not there takes nothing from the others. What a server asks goes
 * to whoever runs its newest call, so servers are not shared among users.
 */
export class McpServers implements AsyncDisposable {
  readonly #options: McpServersOptions;
  readonly #supervisors: readonly McpSupervisor[];
  readonly #toolCounts = new Map<string, number>();
  readonly #noticed = new Map<string, string>();

  /** Throws for servers without a name, with the same name, or without a usable address. */
  constructor(options: McpServersOptions) {
    assertUsable(options.servers);
    this.#options = options;
    const { connectTimeoutMs = 60_000 } = options;
    this.#supervisors = options.servers.map((server) => new McpSupervisor(server, { ...options, connectTimeoutMs }));
  }

  /** The tools of the servers that are there, by names that no two share; the last one reads resources, if there are any. */
  async tools(signal: AbortSignal): Promise<readonly Tool[]> {
    const offers = await this.#each(
      async (supervisor, connection) => [
        {
          tools: await this.#toolsOf(supervisor, connection, signal),
          resources: await this.#resourcesOf(supervisor, connection, signal),
        },
      ],
      signal,
    );
    const { maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES } = this.#options;
    const named = qualifyToolNames(offers.flatMap(({ tools }) => tools));
    const tools = [...named].map(([qualifiedName, found]) => this.#tool(qualifiedName, found, maxOutputBytes));
    const resources = offers.flatMap((offer) => offer.resources);
    const read = this.#read.bind(this);
    return resources.length === 0 ? tools : [...tools, readMcpResourceTool({ resources, read, maxOutputBytes })];
  }

  /** The prompts of the servers that are there. */
  async prompts(signal: AbortSignal): Promise<readonly McpPrompt[]> {
    return this.#each(async (supervisor, connection) => {
      const connect = supervisor.connection.bind(supervisor);
      return (await connection.prompts(signal)).map((prompt) => mcpPrompt(supervisor.server.name, prompt, connect));
    }, signal);
  }

  /** The resources of the servers that are there. */
  async resources(signal: AbortSignal): Promise<readonly McpResource[]> {
    return this.#each((supervisor, connection) => this.#resourcesOf(supervisor, connection, signal), signal);
  }

  /** How each server is, in the order of the settings; asks nobody. */
  status(): readonly McpServerStatus[] {
    return this.#supervisors.map(({ server: { name }, state }) => ({
      name,
      ...state,
      toolCount: state.state === "ready" ? (this.#toolCounts.get(name) ?? 0) : 0,
    }));
  }

  /** Ends every server and forgets what failed; then connects again. */
  async refresh(signal: AbortSignal): Promise<readonly McpServerStatus[]> {
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.reset()));
    this.#noticed.clear();
    await this.tools(signal);
    return this.status();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#supervisors.map((supervisor) => supervisor[Symbol.asyncDispose]()));
  }

  #tool(qualifiedName: string, { supervisor, connection, definition }: FoundTool, maxOutputBytes: number): Tool {
    const { validator } = connection;
    const timeoutMs = callTimeoutMs(supervisor.server);
    const { now } = this.#options;
    const place = this.#placeOf(supervisor.server);
    const common = { callTimeoutMs: timeoutMs, maxOutputBytes, now };
    return mcpTool({ qualifiedName, definition, supervisor, place, validator, ...common });
  }

  #placeOf(server: McpServer): string {
    return serverPlace(server, this.#options.originOf?.(server) ?? "operator");
  }

  async #resourcesOf(
    supervisor: McpSupervisor,
    connection: McpConnection,
    signal: AbortSignal,
  ): Promise<McpResource[]> {
    const listed = await connection.resources(signal);
    const { server } = supervisor;
    const origin = { server: server.name, serverHash: serverHash(server), place: this.#placeOf(server) };
    return listed.map(({ uri, name, title }) => ({ ...origin, uri, name: title ?? name }));
  }

  async #toolsOf(supervisor: McpSupervisor, connection: McpConnection, signal: AbortSignal): Promise<FoundTool[]> {
    const { name: server, includeTools, excludeTools } = supervisor.server;
    const taken = (await connection.tools(signal)).filter(
      ({ name }) => (includeTools.length === 0 || includeTools.includes(name)) && !excludeTools.includes(name),
    );
    if (taken.length > MAX_TOOLS) {
      const text = `MCP server ${JSON.stringify(server)}: it has ${taken.length} tools: the first ${MAX_TOOLS} are taken`;
      this.#noticeOnce(server, text);
    }
    this.#toolCounts.set(server, Math.min(taken.length, MAX_TOOLS));
    return taken
      .slice(0, MAX_TOOLS)
      .map((definition) => ({ server, tool: definition.name, supervisor, connection, definition }));
  }

  /** Asks every server that is there, or comes in time; the others are left out, and a notice says so once. */
  async #each<T>(
    ask: (supervisor: McpSupervisor, connection: McpConnection) => Promise<readonly T[]>,
    signal: AbortSignal,
  ): Promise<readonly T[]> {
    const { waitMs = 10_000 } = this.#options;
    const patience = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
    const asked = await Promise.all(
      this.#supervisors.map(async (supervisor) => {
        try {
          patience.throwIfAborted();
          const asking = supervisor.connection(patience).then((connection) => ask(supervisor, connection));
          return await abortable(asking, patience);
        } catch (reason) {
          signal.throwIfAborted();
          this.#notice(supervisor, reason);
          return [];
        }
      }),
    );
    return asked.flat();
  }

  #notice({ server: { name }, state: { state, reason } }: McpSupervisor, thrown: unknown): void {
    const isLate = state === "connecting" || state === "ready";
    const text = isLate ? `MCP server ${JSON.stringify(name)}: it is not ready yet` : reason || messageOf(thrown);
    this.#noticeOnce(name, text);
  }

  #noticeOnce(server: string, text: string): void {
    if (this.#noticed.get(server) === text) return;
    this.#noticed.set(server, text);
    this.#options.onNotice(text);
  }

  async #read(server: string, uri: string, signal: AbortSignal): ReturnType<McpConnection["readResource"]> {
    const supervisor = this.#supervisors.find((one) => one.server.name === server);
    if (!supervisor) throw invalid("server", server, "is not an MCP server");
    return (await supervisor.connection(signal)).readResource(uri, signal);
  }
}

interface FoundTool {
  readonly server: string;
  readonly tool: string;
  readonly supervisor: McpSupervisor;
  readonly connection: McpConnection;
  readonly definition: ToolDefinition;
}

function callTimeoutMs({ callTimeout }: McpServer): number {
  return callTimeout ? durationMs(callTimeout) : DEFAULT_CALL_TIMEOUT_MS;
}

function assertUsable(servers: readonly McpServer[]): void {
  const names = new Set<string>();
  for (const { name, transport } of servers) {
    if (name === "") throw invalid("mcp_servers", "", "has a server without a name");
    if (names.has(name)) throw invalid("mcp_servers", name, "is named twice");
    names.add(name);
    if (transport.case === undefined)
      throw invalid("mcp_servers", name, "says no way to reach it", "give stdio, http or sse");
    if (transport.case === "stdio" && transport.value.command === "")
      throw invalid("mcp_servers", name, "names no command");
    if (transport.case !== "stdio" && !/^https?:$/.test(URL.parse(transport.value.url)?.protocol ?? ""))
      throw invalid("mcp_servers", name, "has no url with http or https");
  }
}
