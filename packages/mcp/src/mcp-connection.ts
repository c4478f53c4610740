import { AsyncLocalStorage } from "node:async_hooks";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Sample } from "@devtool/coding-agent/tool";
import type { McpServer } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type {
  CallToolResult,
  Client,
  GetPromptResult,
  jsonSchemaValidator,
  Prompt,
  ReadResourceResult,
  RequestOptions,
  Resource,
} from "@modelcontextprotocol/client";
import type { CallHooks } from "./call-hooks.ts";
import { ListCache } from "./list-cache.ts";
import type { McpTransport, TransportOptions } from "./mcp-transport.ts";
import { loadSdk } from "./sdk.ts";
import type { ServerOrigin } from "./server-place.ts";
import { ServerSecrets } from "./server-secrets.ts";
import { definitionOf, type ToolDefinition } from "./tool-definition.ts";

/** How connections are made and what servers may do over them. */
export interface ConnectionOptions extends TransportOptions {
  /** Who we say we are. */
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** Who named a server. Default: the operator. */
  readonly originOf?: (server: McpServer) => ServerOrigin;
  /** Asks the model on a server's behalf, after the user agreed. Default: servers cannot. */
  readonly sample?: Sample;
}

/** The timeout of a request that is not a tool call, in milliseconds. */
const REQUEST_MS = 30_000;
/** The time that a server which seems to be gone has to answer, in milliseconds. */
const ALIVE_MS = 5000;
const LEAVE_MS = 1000;
/** Calls have a deadline of their own, which stands still while the user is asked; this is the longest the SDK can wait. */
const FOREVER_MS = 2 ** 31 - 1;

/** A client of the SDK that is connected to a server. */
export interface OpenedConnection {
  readonly server: McpServer;
  readonly client: Client;
  readonly way: McpTransport;
  readonly validator: jsonSchemaValidator;
}

/** A call of a tool, by the name that its server knows it by. */
export interface ToolRequest {
  readonly name: string;
  readonly args: JsonObject;
  readonly hooks: CallHooks;
}

/** What a server listed, by kind. */
interface McpLists {
  readonly tools: ListCache<ToolDefinition>;
  readonly prompts: ListCache<Prompt>;
  readonly resources: ListCache<Resource>;
}

/** An open connection to one server. When it ends, what waits for the server fails with the reason, and it stays ended. */
export class McpConnection implements AsyncDisposable {
  /** What the server listed; forgotten when it says that a list changed, so that a burst of such words costs one question. */
  readonly lists: McpLists = { tools: new ListCache(), prompts: new ListCache(), resources: new ListCache() };
  readonly #opened: OpenedConnection;
  readonly #ended = new AbortController();
  readonly #running: CallHooks[] = [];
  readonly #current = new AsyncLocalStorage<CallHooks>();
  readonly #secrets: ServerSecrets;
  #checking: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(opened: OpenedConnection) {
    this.#opened = opened;
    this.#secrets = new ServerSecrets(opened.server);
  }

  /** Aborts when the connection is over, with the reason as a `DevtoolError`. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Checks values against schemas of the server. */
  get validator(): jsonSchemaValidator {
    return this.#opened.validator;
  }

  /** The call on whose behalf the server asks something: the one whose answer it belongs to where the transport tells, else the newest. */
  callAsking(): CallHooks | undefined {
    return this.#current.getStore() ?? this.#running.at(-1);
  }

  /** Notes that the connection closed by itself. */
  closed(): void {
    const { server, way } = this.#opened;
    const why = this.#secrets.hide(way.closeReason() || "it closed the connection");
    this.#end(`MCP server ${JSON.stringify(server.name)}: ${why}`);
  }

  /** Finds out whether a server that seems to be gone still answers, and ends the connection when it does not. */
  checkAlive(): void {
    this.#checking ??= this.#ping().finally(() => {
      this.#checking = undefined;
    });
  }

  /** The tools of the server. What needs tasks, which the newest revision dropped, cannot be called by us and is left out. */
  async tools(signal: AbortSignal): Promise<readonly ToolDefinition[]> {
    if (!this.#opened.client.getServerCapabilities()?.tools) return [];
    return this.lists.tools.get(async () => {
      const { tools } = await this.#ask((client) => client.listTools(undefined, this.#request(signal)), signal);
      return tools.filter(({ execution }) => execution?.taskSupport !== "required").map(definitionOf);
    });
  }

  /** Calls a tool. Has no deadline of its own: the signal ends it, and the server is told. */
  async callTool({ name, args, hooks }: ToolRequest, signal: AbortSignal): Promise<CallToolResult> {
    const options: RequestOptions = {
      ...this.#request(signal),
      timeout: FOREVER_MS,
      onprogress: ({ progress, total = 0, message = "" }) =>
        hooks.progress(progress, total, this.#secrets.hide(message)),
    };
    this.#running.push(hooks);
    try {
      return await this.#current.run(hooks, () =>
        this.#ask((client) => client.callTool({ name, arguments: args }, options), signal),
      );
    } finally {
      this.#running.splice(this.#running.indexOf(hooks), 1);
    }
  }

  /** Empty for a server that has none. */
  async prompts(signal: AbortSignal): Promise<readonly Prompt[]> {
    if (!this.#opened.client.getServerCapabilities()?.prompts) return [];
    return this.lists.prompts.get(
      async () => (await this.#ask((client) => client.listPrompts(undefined, this.#request(signal)), signal)).prompts,
    );
  }

  async prompt(name: string, args: Readonly<Record<string, string>>, signal: AbortSignal): Promise<GetPromptResult> {
    return this.#ask((client) => client.getPrompt({ name, arguments: { ...args } }, this.#request(signal)), signal);
  }

  /** Empty for a server that has none. */
  async resources(signal: AbortSignal): Promise<readonly Resource[]> {
    if (!this.#opened.client.getServerCapabilities()?.resources) return [];
    return this.lists.resources.get(
      async () =>
        (await this.#ask((client) => client.listResources(undefined, this.#request(signal)), signal)).resources,
    );
  }

  async readResource(uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    return this.#ask((client) => client.readResource({ uri }, this.#request(signal)), signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { way, server } = this.#opened;
    if (!this.#ended.signal.aborted) await within(LEAVE_MS, way.leave());
    this.#end(`MCP server ${JSON.stringify(server.name)}: it was stopped`);
    await this.#closing;
  }

  #request(signal: AbortSignal): RequestOptions {
    return { signal: AbortSignal.any([signal, this.#ended.signal]), timeout: REQUEST_MS };
  }

  /** Asks the server; what comes back holds none of its secrets. */
  async #ask<T>(request: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return this.#secrets.hideIn(await this.#askWithConsent(request, signal));
    } catch (reason) {
      throw this.#secrets.hideInError(reason);
    }
  }

  /** Asks the server; once more after the user gave consent, when it was missing: then nothing was done yet. */
  async #askWithConsent<T>(request: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { client, way } = this.#opened;
    try {
      return await request(client);
    } catch (reason) {
      const { UnauthorizedError } = await loadSdk();
      if (!way.authorize || !(reason instanceof UnauthorizedError)) throw reason;
      await way.authorize(signal);
      return request(client);
    }
  }

  async #ping(): Promise<void> {
    const { client, server } = this.#opened;
    const { ProtocolError } = await loadSdk();
    const options = { signal: this.#ended.signal, timeout: ALIVE_MS };
    try {
      await (client.getProtocolEra() === "modern" ? client.discover(options) : client.ping(options));
    } catch (reason) {
      // An error of the protocol is an answer too.
      if (!(reason instanceof ProtocolError))
        this.#end(`MCP server ${JSON.stringify(server.name)}: it does not answer any more`);
    }
  }

  #end(message: string): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort(new DevtoolError(message, Code.Unavailable));
    this.#closing = this.#opened.client.close().catch(() => undefined);
  }
}

/** Waits for something that may fail or take too long, and that nobody needs. */
async function within(timeMs: number, work: Promise<void>): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, timeMs);
  await Promise.race([work.catch(() => undefined), timeout.promise]);
  clearTimeout(timer);
}
