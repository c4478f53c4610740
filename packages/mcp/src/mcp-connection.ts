import { AsyncLocalStorage } from "node:async_hooks";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import { plainJson } from "@devtool/internal/json";
import { traceFields } from "@devtool/internal/trace-parent";
import type { McpServer, TraceContext } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type {
  CacheableRequestOptions,
  CallToolResult,
  Client,
  GetPromptResult,
  jsonSchemaValidator,
  Prompt,
  ReadResourceResult,
  RequestOptions,
  Resource,
  ResourceTemplateType,
  Tool,
} from "@modelcontextprotocol/client";
import type { CallHooks } from "./call-events.ts";
import type { LeftOut } from "./left-out.ts";
import { ListCache } from "./list-cache.ts";
import type { ListKind } from "./list-items.ts";
import type { McpTransport, TransportOptions } from "./mcp-transport.ts";
import { showJson } from "./message-problem.ts";
import { loadSdk } from "./sdk.ts";
import { ServerChanges } from "./server-changes.ts";
import type { ServerOrigin } from "./server-place.ts";
import type { AnswerRequest } from "./server-requests.ts";
import { ServerSecrets } from "./server-secrets.ts";
import { readToolDefinition, type ToolDefinition } from "./tool-definition.ts";

/** How connections are opened, and what servers may request over them. */
export interface ConnectionOptions extends TransportOptions {
  /** The name and version that servers get. */
  readonly clientInfo: { readonly name: string; readonly version: string };
  /**
   * Returns where a server was named. Default: in the operator's configuration.
   */
  readonly originOf?: (server: McpServer) => ServerOrigin;
}

/** The timeout of a request that is not a tool call, in milliseconds. */
const REQUEST_MS = 30_000;
/** The timeout of a ping to a server that seems to be gone, in milliseconds. */
const PING_MS = 5000;
/** The timeout for ending the session at the server, in milliseconds. */
const LEAVE_MS = 1000;
/**
 * The longest timeout that the SDK accepts, in milliseconds. Tool calls have a
 * deadline of their own (`CallDeadline`).
 */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** A client of the SDK, and what it was created for. */
export interface OpenedConnection {
  readonly server: McpServer;
  readonly client: Client;
  readonly transport: McpTransport;
  /** Checks values against schemas of the server. */
  readonly validator: jsonSchemaValidator;
  /** What its lists hold that cannot be used. */
  readonly leftOut: LeftOut;
  /** Answers what the server asks in a task. */
  readonly answer: AnswerRequest;
}

/** A call of a tool, by the name that its server gave it. */
export interface ToolRequest {
  readonly name: string;
  readonly args: JsonObject;
  /** The place of the call in a trace; undefined when nobody records traces. */
  readonly trace: TraceContext | undefined;
  readonly hooks: CallHooks;
}

/** A request for a resource. */
export interface ResourceRequest extends Pick<ToolRequest, "trace"> {
  readonly uri: string;
}

/** Sends one request to the server. */
type ServerRequest<T> = (
  client: Client,
  options: CacheableRequestOptions,
) => Promise<T>;

interface McpLists {
  readonly tools: ListCache<ToolDefinition>;
  readonly prompts: ListCache<Prompt>;
  readonly resources: ListCache<Resource>;
  readonly resourceTemplates: ListCache<ResourceTemplateType>;
}

/**
 * An open connection to one server.
 *
 * When it ends, all pending requests fail with the reason. It cannot be opened
 * again: `openConnection` opens another.
 */
export class McpConnection implements AsyncDisposable {
  /**
   * The cached lists of the server. A burst of notifications that a list has
   * changed causes one request at most.
   */
  readonly lists: McpLists = {
    tools: new ListCache(),
    prompts: new ListCache(),
    resources: new ListCache(),
    resourceTemplates: new ListCache(),
  };
  /** Checks values against schemas of the server. */
  readonly validator: jsonSchemaValidator;
  /** What the lists of the server hold that cannot be used. */
  readonly leftOut: LeftOut;
  /** What the server says has changed. */
  readonly changes: ServerChanges;
  readonly #opened: OpenedConnection;
  readonly #ended = new AbortController();
  /**
   * Aborts when the connection is over, with the reason as a `DevtoolError`.
   */
  readonly ended: AbortSignal = this.#ended.signal;
  /**
   * Whether the connection ended because the server had forgotten its session:
   * what was asked last did not run.
   */
  isSessionGone = false;
  readonly #running: CallHooks[] = [];
  readonly #current = new AsyncLocalStorage<CallHooks>();
  readonly #secrets: ServerSecrets;
  #checking: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(opened: OpenedConnection) {
    this.#opened = opened;
    this.validator = opened.validator;
    this.leftOut = opened.leftOut;
    const forget = (): void => {
      for (const list of Object.values(this.lists)) list.invalidate();
    };
    this.changes = new ServerChanges(opened.client, forget, this.ended);
    this.#secrets = new ServerSecrets(opened.server);
  }

  /** What the server says about itself for a model; empty for nothing. */
  get instructions(): string {
    return this.#opened.client.getInstructions() ?? "";
  }

  /**
   * Returns the call that a request of the server belongs to. Where the
   * transport does not tell, that is the newest call.
   */
  findCall(): CallHooks | undefined {
    return this.#current.getStore() ?? this.#running.at(-1);
  }

  /** Ends the connection because the transport has closed. */
  handleClose(): void {
    this.#end(
      this.#secrets.hide(
        this.#opened.transport.closeReason() || "it closed the connection",
      ),
    );
  }

  /**
   * Pings a server that seems to be gone, in the background, and ends the
   * connection if there is no answer.
   */
  checkAlive(): void {
    this.#checking ??= this.#ping().finally(() => {
      this.#checking = undefined;
    });
  }

  /**
   * Returns the tools of the server, without those that require the tasks of
   * 2025-11-25, which this client does not support. Since 2026-07-28 the server
   * decides whether a call becomes a task (SEP-2663).
   */
  async tools(signal: AbortSignal): Promise<readonly ToolDefinition[]> {
    return this.lists.tools.get(async () => {
      const tools = await this.#list("tools", signal, (client, options) =>
        client.listTools(undefined, options).then((listed) => listed.tools),
      );
      return tools.flatMap((tool) => {
        if (this.#isModern || tool.execution?.taskSupport !== "required") {
          return [this.#readTool(tool)];
        }
        this.leftOut.add(
          "tools",
          `tool ${showJson(tool.name)} is left out: it requires the tasks of 2025-11-25`,
        );
        return [];
      });
    });
  }

  /**
   * Calls a tool. The result may be a task (`taskOfResult`). There is no
   * timeout: when the signal aborts, the call is cancelled at the server.
   */
  async callTool(
    { name, args, trace, hooks }: ToolRequest,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    const callOptions: RequestOptions = {
      timeout: MAX_TIMEOUT_MS,
      onprogress: ({ progress, total = 0, message = "" }) =>
        hooks.progress(progress, total, this.#secrets.hide(message)),
    };
    this.#running.push(hooks);
    try {
      return await this.#current.run(hooks, () =>
        this.#ask(
          (client, options) =>
            client.callTool(
              { name, arguments: args, ...traceMeta(trace) },
              { ...options, ...callOptions },
            ),
          signal,
        ),
      );
    } finally {
      this.#running.splice(this.#running.indexOf(hooks), 1);
    }
  }

  /** Sends a request about a task of the server (SEP-2663). */
  async askTask(
    method: "tasks/get" | "tasks/update" | "tasks/cancel",
    params: { readonly taskId: string; readonly inputResponses?: JsonObject },
    signal: AbortSignal,
  ): Promise<unknown> {
    const { specTypeSchemas } = await loadSdk();
    return this.#ask(
      (client, options) =>
        client.request({ method, params }, specTypeSchemas.Result, options),
      signal,
    );
  }

  /** Answers what the server asks in the task of a call. */
  async answerFor(
    hooks: CallHooks,
    request: JsonValue,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    return this.#current.run(hooks, async () =>
      plainJson(await this.#opened.answer(request, signal)),
    );
  }

  /**
   * Returns the prompts of the server; empty for a server that does not support
   * prompts.
   */
  async prompts(signal: AbortSignal): Promise<readonly Prompt[]> {
    return this.lists.prompts.get(() =>
      this.#list("prompts", signal, (client, options) =>
        client.listPrompts(undefined, options).then(({ prompts }) => prompts),
      ),
    );
  }

  /** Returns the messages of a prompt, filled in with arguments. */
  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    signal: AbortSignal,
    trace?: TraceContext,
  ): Promise<GetPromptResult> {
    return this.#ask(
      (client, options) =>
        client.getPrompt(
          { name, arguments: { ...args }, ...traceMeta(trace) },
          options,
        ),
      signal,
    );
  }

  /**
   * Returns the resources of the server; empty for a server that does not
   * support resources.
   */
  async resources(signal: AbortSignal): Promise<readonly Resource[]> {
    return this.lists.resources.get(() =>
      this.#list("resources", signal, (client, options) =>
        client
          .listResources(undefined, options)
          .then(({ resources }) => resources),
      ),
    );
  }

  /**
   * Returns the templates of the server's resources: URIs with variables to
   * fill in (RFC 6570). Empty for a server that does not know templates.
   */
  async resourceTemplates(
    signal: AbortSignal,
  ): Promise<readonly ResourceTemplateType[]> {
    const { ProtocolError, ProtocolErrorCode } = await loadSdk();
    return this.lists.resourceTemplates.get(() =>
      this.#list("resourceTemplates", signal, (client, options) =>
        client.listResourceTemplates(undefined, options).then(
          ({ resourceTemplates }) => resourceTemplates,
          (reason: unknown) => {
            const isUnknown =
              reason instanceof ProtocolError &&
              reason.code === ProtocolErrorCode.MethodNotFound;
            if (isUnknown) return [];
            throw reason;
          },
        ),
      ),
    );
  }

  async readResource(
    { uri, trace }: ResourceRequest,
    signal: AbortSignal,
  ): Promise<ReadResourceResult> {
    const { changes } = this;
    const before = changes.resources.get(uri);
    const isWatched = changes.markRead(uri);
    const cacheMode = before === "unknown" ? "refresh" : "use";
    try {
      const result = await this.#ask(
        (client, options) =>
          client.readResource(
            { uri, ...traceMeta(trace) },
            { ...options, cacheMode },
          ),
        signal,
      );
      if (isWatched && before === undefined) changes.watch(uri);
      return result;
    } catch (reason) {
      changes.unmarkRead(uri, before);
      throw reason;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended.signal.aborted) {
      // The session is ended as a courtesy: a server that fails or takes too
      // long is left.
      const leaving = this.#opened.transport.leave();
      const timeout = AbortSignal.timeout(LEAVE_MS);
      await abortable(leaving, timeout).catch(() => undefined);
    }
    this.#end("it was stopped");
    await this.#closing;
  }

  /** Reads a tool, and notes what of it is left out. */
  #readTool(tool: Tool): ToolDefinition {
    const definition = readToolDefinition(tool);
    for (const text of definition.ignored) {
      const name = `tool ${showJson(tool.name)}`;
      this.leftOut.add("tools", `${name}: ${text}: ignored`);
    }
    return definition;
  }

  /** Asks for a whole list anew. It is empty when the server has none. */
  async #list<T>(
    kind: ListKind,
    signal: AbortSignal,
    request: ServerRequest<readonly T[]>,
  ): Promise<readonly T[]> {
    const capability = kind === "resourceTemplates" ? "resources" : kind;
    const support = this.#opened.client.getServerCapabilities()?.[capability];
    if (!support) return [];
    const isTold = this.changes.tellsOf(capability);
    this.changes.hearAgain();
    // What the SDK keeps for `ttlMs` is from before a change that was missed.
    const cacheMode = support.listChanged ? "refresh" : "use";
    const items = await this.#ask(
      (client, options) => request(client, { ...options, cacheMode }),
      signal,
    );
    if (!isTold) this.lists[kind].invalidate();
    return items;
  }

  /**
   * Sends a request. Neither the result nor an error contains a secret of the
   * server.
   */
  async #ask<T>(request: ServerRequest<T>, signal: AbortSignal): Promise<T> {
    try {
      return this.#secrets.hideIn(await this.#askWithConsent(request, signal));
    } catch (reason) {
      if (this.#opened.transport.hasSession() && isNotFound(reason)) {
        this.isSessionGone = true;
        this.#end("the server no longer knows the session");
      }
      throw this.#secrets.hideInError(reason);
    }
  }

  /**
   * Sends a request, and repeats it after the user's consent if the server
   * refused it for lack of consent.
   */
  async #askWithConsent<T>(
    request: ServerRequest<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { client, transport } = this.#opened;
    const options = {
      signal: AbortSignal.any([signal, this.#ended.signal]),
      timeout: REQUEST_MS,
    };
    try {
      return await request(client, options);
    } catch (reason) {
      const { UnauthorizedError } = await loadSdk();
      if (!transport.authorize || !(reason instanceof UnauthorizedError)) {
        throw reason;
      }
      await transport.authorize(signal);
      return request(client, options);
    }
  }

  get #isModern(): boolean {
    return this.#opened.client.getProtocolEra() === "modern";
  }

  async #ping(): Promise<void> {
    const { client } = this.#opened;
    const { ProtocolError } = await loadSdk();
    const options = { signal: this.#ended.signal, timeout: PING_MS };
    try {
      await (this.#isModern ? client.discover(options) : client.ping(options));
    } catch (reason) {
      // An error of the protocol is an answer too.
      if (!(reason instanceof ProtocolError)) {
        this.#end("it does not answer any more");
      }
    }
  }

  #end(why: string): void {
    if (this.#ended.signal.aborted) return;
    const { server, client } = this.#opened;
    this.#ended.abort(
      new DevtoolError(
        `MCP server ${JSON.stringify(server.name)}: ${why}`,
        Code.Unavailable,
      ),
    );
    this.#closing = client.close().catch(() => undefined);
  }
}

/** Whether an error is an answer with HTTP 404. */
function isNotFound(reason: unknown): boolean {
  return reason instanceof Error && "status" in reason && reason.status === 404;
}

/** Returns the place of a request in a trace, as MCP has it (SEP-414). */
function traceMeta(trace: TraceContext | undefined): {
  readonly _meta?: Readonly<Record<string, string>>;
} {
  return trace ? { _meta: traceFields(trace) } : {};
}
