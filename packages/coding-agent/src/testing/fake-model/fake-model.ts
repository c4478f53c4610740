import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "@devtool/internal/json";
import { parseScript } from "../../agent/scripted/script.ts";
import { type Entry, locate, type Position } from "./conversation.ts";
import type { DeclaredTool } from "./declared-tool.ts";
import { type FakeError, RequestRefused, readJson, sendJson } from "./http.ts";
import {
  type Plan,
  type PlanContext,
  planText,
  planTurn,
  summarize,
} from "./plan.ts";
import { type StreamEncoder, streamAnswer } from "./stream-answer.ts";

/** Options of a fake model API. */
export interface FakeModelOptions {
  /** Port on loopback. Default: 0, a free one. */
  readonly port?: number;
  /** Delay before each answer, in milliseconds. Default: 0. */
  readonly latencyMs?: number;
  /** Delay between the pieces of a stream, in milliseconds. Default: 0. */
  readonly chunkDelayMs?: number;
}

/** A running fake model API. */
export interface FakeModel extends AsyncDisposable {
  /** The server's address: `http://127.0.0.1:port`. */
  readonly url: string;
  /** The last 100 requests for an answer, oldest first. */
  requests(): readonly FakeRequest[];
  /** Number of requests since the start or the last `reset`. */
  stats(): FakeStats;
  /** Forgets all requests, counts and attempts. */
  reset(): void;
}

/** A request for an answer. */
export interface FakeRequest {
  /** The operation, such as `responses`. */
  readonly method: string;
  readonly model: string;
  /** The path of the URL, without its query. */
  readonly path: string;
  /** Headers as received, including credentials. Names are in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The prompt to respond to. */
  readonly prompt: string;
  /** Number of the model's turns with calls since the prompt. */
  readonly round: number;
  /** Number of this attempt at the turn, from 1. */
  readonly attempt: number;
  /** Names of the declared tools. */
  readonly tools: readonly string[];
  /** Signatures, or encrypted thoughts, that the agent sent back. */
  readonly signatures: readonly string[];
  /** The parsed body. */
  readonly body: unknown;
}

/**
 * Numbers of requests since the start or the last `reset`. Requests that a
 * `FakeDialect` refuses are not counted.
 */
export interface FakeStats {
  readonly requests: number;
  /** By `FakeRequest.method`, and for other replies by `ApiReply.method`. */
  readonly byMethod: Readonly<Record<string, number>>;
}

/** A request that has reached the API. */
export interface ApiRequest {
  /** The HTTP method. */
  readonly verb: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** The fields that all pieces of an answer have in common. */
export interface AnswerContext {
  readonly model: string;
  /** Number of the answer, for its ids. */
  readonly serial: number;
  /** The estimated number of tokens of the request. */
  readonly inputTokens: number;
}

/** A request for an answer, as an API reads it. */
export interface AnswerRequest {
  readonly case: "answer";
  /** The operation, for statistics. */
  readonly method: string;
  readonly model: string;
  /** The messages, oldest first. */
  readonly conversation: readonly Entry[];
  readonly tools: readonly DeclaredTool[];
  /**
   * Which calls of a script are made: those of declared tools, under their
   * names there, or all as they are. Default: `declared`.
   */
  readonly calls?: "declared" | "scripted";
  /** The text of the answer, in place of the script. Default: none. */
  readonly text?: string;
  readonly signatures: readonly string[];
  /** Encodes the answer as a stream, or as one JSON value. */
  readonly encode:
    | {
        readonly case: "stream";
        readonly stream: (context: AnswerContext) => StreamEncoder;
      }
    | {
        readonly case: "whole";
        readonly whole: (plan: Plan, context: AnswerContext) => unknown;
      };
}

/**
 * How a fake API answers a request: with what the script in its prompt says, or
 * with a JSON value that is always the same.
 */
export type ApiReply =
  | AnswerRequest
  | { readonly case: "json"; readonly method: string; readonly value: unknown };

/** One API: its paths, the requests it refuses, and the form of its answers. */
export interface FakeDialect {
  /** Reads a request. Throws `RequestRefused` for one that the API refuses. */
  read(request: ApiRequest): ApiReply;
  /** Returns the body of an error response. */
  encodeError(error: FakeError): unknown;
}

const KEPT = 100;

/**
 * Starts a model API on loopback that plays each prompt as a script
 * (docs/models.md).
 *
 * The same prompt always gives the same answer, except for ids, which ascend.
 * Resolves when the server listens.
 */
export async function startFakeModel(
  dialect: FakeDialect,
  options: FakeModelOptions = {},
): Promise<FakeModel> {
  const fake = new Fake(dialect, options);
  const server = createServer((request, response) => {
    fake
      .route(request, response)
      .catch((reason: unknown) => fake.fail(response, reason));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${isObject(address) ? address.port : 0}`,
    requests: () => fake.recent,
    stats: () => fake.stats,
    reset: () => fake.reset(),
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

class Fake {
  recent: FakeRequest[] = [];
  stats: FakeStats = { requests: 0, byMethod: {} };
  readonly #dialect: FakeDialect;
  readonly #options: FakeModelOptions;
  #attempts = new Map<string, number>();
  #serial = 0;

  constructor(dialect: FakeDialect, options: FakeModelOptions) {
    this.#dialect = dialect;
    this.#options = options;
  }

  reset(): void {
    this.recent = [];
    this.stats = { requests: 0, byMethod: {} };
    this.#attempts = new Map();
  }

  async route(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://fake");
    if (pathname.startsWith("/__fake/")) {
      if (pathname === "/__fake/reset") this.reset();
      const recent = this.recent.map(
        ({ body: _whole, headers: _secret, ...shown }) => shown,
      );
      return sendJson(
        response,
        200,
        pathname === "/__fake/requests" ? recent : this.stats,
      );
    }
    const { headers, method: verb = "GET" } = request;
    const body = await readJson(request);
    const reply = this.#dialect.read({ verb, path: pathname, headers, body });
    const { requests, byMethod } = this.stats;
    const count = (byMethod[reply.method] ?? 0) + 1;
    this.stats = {
      requests: requests + 1,
      byMethod: { ...byMethod, [reply.method]: count },
    };
    if (reply.case === "json") return sendJson(response, 200, reply.value);
    await this.#answer(reply, { path: pathname, headers, body }, response);
  }

  /**
   * Responds to a request that was refused or failed. Closes a response that
   * has begun.
   */
  fail(response: ServerResponse, reason: unknown): void {
    if (response.headersSent) return void response.destroy();
    const status = reason instanceof SyntaxError ? 400 : 500;
    this.#sendError(
      response,
      reason instanceof RequestRefused
        ? reason.error
        : { status, message: String(reason) },
    );
  }

  #sendError(response: ServerResponse, error: FakeError): void {
    if (error.retryAfterMs !== undefined) {
      response.setHeader("retry-after", String(error.retryAfterMs / 1000));
    }
    sendJson(response, error.status, this.#dialect.encodeError(error));
  }

  async #answer(
    asked: AnswerRequest,
    received: Pick<ApiRequest, "path" | "headers" | "body">,
    response: ServerResponse,
  ): Promise<void> {
    const position = locate(asked.conversation);
    const { prompt, round } = position;
    // A request without tools, such as one for a title, is another turn than
    // one with them.
    const turn = `${round} ${asked.tools.length > 0}\n${prompt}`;
    const attempt = (this.#attempts.get(turn) ?? 0) + 1;
    this.#attempts.set(turn, attempt);
    const { method, model, signatures } = asked;
    const tools = asked.tools.map(({ name }) => name);
    const kept = {
      ...received,
      method,
      model,
      prompt,
      round,
      attempt,
      tools,
      signatures,
    };
    this.recent = [...this.recent.slice(1 - KEPT), kept];
    const serial = ++this.#serial;
    const plan = choosePlan(asked, position, { attempt, serial });
    const { latencyMs = 0, chunkDelayMs = 0 } = this.#options;
    if (latencyMs > 0) await sleep(latencyMs);
    if (plan.fail) {
      const { code, ...rest } = plan.fail;
      return this.#sendError(response, {
        ...rest,
        status: code,
        message: `Scripted failure ${code}.`,
      });
    }
    const context = {
      model,
      serial,
      inputTokens: estimateTokens(received.body),
    };
    if (asked.encode.case === "whole") {
      return sendJson(response, 200, asked.encode.whole(plan, context));
    }
    await streamAnswer(
      response,
      plan,
      asked.encode.stream(context),
      chunkDelayMs,
    );
  }
}

/**
 * Chooses the answer. Where no tool may be called, the calls of the script are
 * left out.
 */
function choosePlan(
  { calls = "declared", text, tools }: AnswerRequest,
  { prompt, round, results }: Position,
  counts: Omit<PlanContext, "tools">,
): Plan {
  if (text !== undefined) return planText(text);
  const turns = parseScript(prompt);
  if (!turns) return planText(`You said: ${prompt.slice(0, 200)}`);
  const turn = turns[round];
  if (!turn) return planText(summarize(results));
  if (calls === "scripted") return planTurn(turn, { ...counts, tools: [] });
  const plan = planTurn(turn, { ...counts, tools });
  if (tools.length > 0) return plan;
  const items = plan.items.filter((item) => item.case !== "calls");
  return items.length < plan.items.length && items.length === 0
    ? planText(summarize(results))
    : { ...plan, items };
}

/** Estimates the number of tokens, at four characters each. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value ?? "").length / 4);
}
