import {
  setTimeout as delay,
  setImmediate as nextTurn,
} from "node:timers/promises";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import { errorWords } from "@devtool/internal/error-words";
import {
  quoteInexactNumbers,
  replaceLoneSurrogates,
} from "@devtool/internal/exact-json";
import {
  isObject,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import { JsonLines } from "@devtool/internal/json-lines";
import { markLongIds, unmarkLongIds } from "@devtool/internal/long-ids";
import { traceFields } from "@devtool/internal/trace-parent";
import { oneLine } from "@devtool/internal/visible-text";
import { assertJsonBudget, type TraceContext } from "@devtool/schema";
import {
  Code,
  DevtoolError,
  LineReader,
  type StdioCommand,
  StdioProcess,
  VERSION,
} from "@devtool/server/agent";

/**
 * The maximum size of a message of the app-server, in bytes: 32 MiB, since
 * items can hold images.
 */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** The fields with data of tools, which keeps the digits of its numbers. */
const DATA: ReadonlySet<string> = new Set([
  "arguments",
  "tool_params",
  "structuredContent",
  "contentItems",
  "agentsStates",
  "action",
  "results",
]);

/** The methods of the app-server that are called. */
export const CALLED_METHODS = [
  "initialize",
  "account/read",
  "model/list",
  "mcpServerStatus/list",
  "thread/start",
  "thread/resume",
  "thread/fork",
  "turn/start",
  "turn/steer",
  "turn/interrupt",
] as const;

/** A method of the app-server that is called. */
export type Method = (typeof CALLED_METHODS)[number];

/** A message that the app-server sends on its own account. */
export type ServerMessage =
  | {
      readonly case: "notification";
      readonly method: string;
      readonly params: JsonObject;
    }
  | {
      readonly case: "request";
      readonly id: RequestId;
      readonly method: string;
      readonly params: JsonObject;
    };

/** The id of a request, in JSON-RPC. */
export type RequestId = string | number;

/** Where a connection delivers messages. */
export interface MessageSink {
  /** The number of messages that have not been handled. */
  readonly size: number;
  put(message: ServerMessage): void;
  /** Ends the delivery: the connection has failed. */
  fail(error: Error): void;
}

/** The response to a request. */
export type Reply =
  | { readonly case: "result"; readonly value: JsonObject }
  | { readonly case: "refused"; readonly message: string };

/** Limits of a connection to an app-server. */
export interface AppServerLimits {
  /** The timeout of a request, in milliseconds. */
  readonly requestTimeoutMs: number;
  /**
   * The maximum number of messages that wait to be handled. An app-server that
   * sends more is ended.
   */
  readonly maxUnread: number;
}

/** The number of lines that are not JSON after which an app-server is ended. */
const MAX_BROKEN_LINES = 100;
/** The maximum nesting of a message: clients of ours read no deeper ones. */
const MAX_DEPTH = 64;
/** The maximum number of values in a message. */
const MAX_NODES = 200_000;
/**
 * The number of messages after which the event loop continues with other work.
 */
const MESSAGES_PER_TURN = 50;
/**
 * The maximum number of bytes that an app-server may leave unread before it is
 * ended.
 */
const MAX_UNREAD_BYTES: number = 64 * 1024 * 1024;
/**
 * The time after the end of a process in which the rest of its output is still
 * read, in milliseconds.
 */
const LINGER_MS = 200;
/** The maximum number of notifications that are kept for the next sink. */
const MAX_HELD = 64;
/** Says how far an MCP server has started, at any time. */
export const MCP_STATUS = "mcpServer/startupStatus/updated";
/** JSON-RPC's code for a method that does not exist. */
const METHOD_NOT_FOUND = -32601;

/**
 * A connection to a `codex app-server` process, over its standard streams.
 *
 * The messages are JSON-RPC 2.0 without the field `jsonrpc`, one per line. A
 * failure of the process ends the connection: pending requests and the sink get
 * a `DevtoolError` with `Code.Unavailable`.
 */
export class AppServer implements AsyncDisposable {
  readonly #process: StdioProcess;
  readonly #limits: AppServerLimits;
  readonly #pending = new Map<RequestId, PromiseWithResolvers<Reply>>();
  readonly #reading: Promise<void>;
  /** Why the connection has ended; undefined while it is open. */
  #failure: DevtoolError | undefined;
  #sink: MessageSink | undefined;
  /** What arrived without a sink and is kept for the next one. */
  readonly #held: ServerMessage[] = [];
  readonly #failedMcpServers = new Map<string, string>();
  #lastId = 0;

  private constructor(command: StdioCommand, limits: AppServerLimits) {
    this.#limits = limits;
    this.#process = new StdioProcess(command);
    this.#reading = this.#run();
  }

  /**
   * Starts a process and initializes the connection. Throws a `DevtoolError`
   * when that fails.
   */
  static async start(
    command: StdioCommand,
    limits: AppServerLimits,
    signal: AbortSignal,
  ): Promise<AppServer> {
    const server = new AppServer(command, limits);
    try {
      const clientInfo = {
        name: "devtool",
        title: "devtool",
        version: VERSION,
      };
      const capabilities = { experimentalApi: true, requestAttestation: false };
      await server.request("initialize", { clientInfo, capabilities }, signal);
      server.#send({ method: "initialized" });
      return server;
    } catch (reason) {
      await server[Symbol.asyncDispose]();
      throw reason;
    }
  }

  /** The process id; undefined when the process could not be started. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Why MCP servers did not start, by their names. */
  get failedMcpServers(): ReadonlyMap<string, string> {
    return this.#failedMcpServers;
  }

  /** Why the connection has ended; undefined while it is open. */
  get failure(): DevtoolError | undefined {
    return this.#failure;
  }

  /** The end of the process's standard error, for the operator. */
  get lastWords(): string {
    return this.#process.lastWords;
  }

  /**
   * Delivers the messages of the app-server to a sink, until the returned value
   * is disposed of. While there is no sink, notifications are dropped, but for
   * those about MCP servers, which start before a turn, and requests are
   * refused.
   */
  attach(sink: MessageSink): Disposable {
    this.#sink = sink;
    for (const held of this.#held.splice(0)) sink.put(held);
    if (this.#failure) sink.fail(this.#failure);
    return {
      [Symbol.dispose]: () => {
        if (this.#sink === sink) this.#sink = undefined;
      },
    };
  }

  /**
   * Sends a request and returns the result. Throws a `DevtoolError` when the
   * app-server refuses it, ends, or is late.
   *
   * @param trace the place of the request in a trace. Default: none
   */
  async request(
    method: Method,
    params: JsonObject,
    signal: AbortSignal,
    trace?: TraceContext,
  ): Promise<JsonObject> {
    const reply = await this.call(method, params, signal, trace);
    if (reply.case === "result") return reply.value;
    throw new DevtoolError(
      `Codex refused ${method}: ${reply.message}`,
      Code.FailedPrecondition,
    );
  }

  /** Sends a request and returns the response, which may be a refusal. */
  async call(
    method: Method,
    params: JsonObject,
    signal: AbortSignal,
    trace?: TraceContext,
  ): Promise<Reply> {
    if (this.#failure) throw this.#failure;
    const id = ++this.#lastId;
    const reply = Promise.withResolvers<Reply>();
    // A failure of the process also reaches callers that have left.
    reply.promise.catch(() => undefined);
    this.#pending.set(id, reply);
    const { requestTimeoutMs } = this.#limits;
    const late = `it did not answer ${method} within ${requestTimeoutMs} ms`;
    const timer = setTimeout(
      () => reply.reject(unavailable(late)),
      requestTimeoutMs,
    );
    try {
      const place = trace && { trace: { ...traceFields(trace) } };
      this.#send({ id, method, params, ...place });
      return await abortable(reply.promise, signal);
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
    }
  }

  /** Answers a request of the app-server. */
  reply(id: RequestId, result: JsonObject): void {
    this.#send({ id, result });
  }

  /** Refuses a request of the app-server. */
  refuse(id: RequestId, message: string): void {
    this.#send({ id, error: { code: METHOD_NOT_FOUND, message } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#fail("it was stopped");
    await this.#process[Symbol.asyncDispose]();
    await this.#reading;
  }

  #send(message: JsonObject): void {
    const json = replaceLoneSurrogates(JSON.stringify(message));
    this.#process.write(`${unmarkLongIds(json)}\n`);
    if (this.#process.unreadBytes > MAX_UNREAD_BYTES) {
      this.#end("it does not read its input");
    }
  }

  async #run(): Promise<void> {
    const reading = this.#read().catch((reason: Error) =>
      this.#end(reason.message),
    );
    const howItEnded = await this.#process.ended;
    await Promise.race([reading, delay(LINGER_MS, undefined, { ref: false })]);
    this.#end(howItEnded);
    this.#process.closeOutput();
    await reading;
  }

  async #read(): Promise<void> {
    const lines = new LineReader(MAX_MESSAGE_BYTES);
    const json = new JsonLines(parse);
    let broken = 0;
    for await (const chunk of this.#process.output) {
      for (const [at, line] of [...lines.push(chunk)].entries()) {
        const { values, broken: texts, cut } = json.read(line);
        for (const message of values) {
          if (isObject(message)) this.#deliver(message);
        }
        for (const text of [...texts, cut]) this.#endBroken(text);
        broken += texts.length;
        if (broken > MAX_BROKEN_LINES) {
          throw new Error(
            `it wrote more than ${MAX_BROKEN_LINES} lines that are not valid JSON`,
          );
        }
        if (at % MESSAGES_PER_TURN === MESSAGES_PER_TURN - 1) await nextTurn();
      }
      await nextTurn();
    }
  }

  /** Ends the request that a text answers in broken JSON. */
  #endBroken(text: string): void {
    if (text.includes('"method"')) return;
    const id = /"id"\s*:\s*"?(\d+)/.exec(text)?.[1];
    const message = `invalid answer: it is not JSON: ${oneLine(text, 80)}`;
    this.#pending.get(Number(id))?.resolve({ case: "refused", message });
  }

  #deliver({ id, method, params, result, error }: JsonObject): void {
    const isId = typeof id === "number" || typeof id === "string";
    if (typeof method !== "string") {
      if (isId) {
        const isNumber = typeof id === "string" && /^\d+$/.test(id);
        const pending = this.#pending.get(isNumber ? Number(id) : id);
        pending?.resolve(replyFrom(result, error));
      }
      return;
    }
    const content = { method, params: objectOrEmpty(params) };
    if (method === MCP_STATUS) this.#noteMcpStatus(content.params);
    if (this.#sink) {
      this.#sink.put(
        isId
          ? { case: "request", id, ...content }
          : { case: "notification", ...content },
      );
      const { maxUnread } = this.#limits;
      if (this.#sink.size > maxUnread) {
        throw new Error(`it sent more than ${maxUnread} messages at once`);
      }
    } else if (isId) {
      this.refuse(id, "no turn is running");
    } else if (method === MCP_STATUS && this.#held.length < MAX_HELD) {
      this.#held.push({ case: "notification", ...content });
    }
  }

  #noteMcpStatus({ name, status, error }: JsonObject): void {
    const server = stringOrEmpty(name);
    this.#failedMcpServers.delete(server);
    if (status !== "failed" || this.#failedMcpServers.size >= MAX_HELD) return;
    const why = stringOrEmpty(error) || "it did not start";
    this.#failedMcpServers.set(server, why);
  }

  /** Ends the process at once. */
  #end(why: string): void {
    this.#fail(why);
    this.#process.kill();
  }

  #fail(why: string): void {
    this.#failure ??= unavailable(why);
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#sink?.fail(this.#failure);
  }
}

function parse(text: string): JsonValue | undefined {
  assertJsonBudget(text, {
    maxBytes: MAX_MESSAGE_BYTES,
    maxDepth: MAX_DEPTH,
    maxNodes: MAX_NODES,
  });
  const json = markLongIds(quoteInexactNumbers(text, DATA));
  const message = parseJsonOrUndefined(json);
  if (message === undefined || !/\\ud[89a-f]/i.test(json)) return message;
  // Half a character of a delta may be joined with that of the next one.
  return JSON.parse(json, (name, value) =>
    typeof value === "string" && name !== "delta"
      ? value.toWellFormed()
      : value,
  );
}

/**
 * Reads the answer to a request, which ends it, however badly. Each result of
 * the app-server is an object.
 */
function replyFrom(
  result: JsonValue | undefined,
  error: JsonValue | undefined,
): Reply {
  if (isObject(error) && typeof error.message === "string") {
    const message = errorWords(error.message, error.data);
    return { case: "refused", message };
  }
  const isResult = result === null || isObject(result);
  if ((error ?? undefined) === undefined && isResult) {
    return { case: "result", value: objectOrEmpty(result) };
  }
  const said = JSON.stringify(error ?? result ?? "no result");
  return { case: "refused", message: `invalid answer: ${oneLine(said)}` };
}

function unavailable(why: string): DevtoolError {
  return new DevtoolError(
    `Codex's app-server failed: ${why}`,
    Code.Unavailable,
  );
}
