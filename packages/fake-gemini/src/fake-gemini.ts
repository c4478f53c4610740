import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseScript } from "@devtool/coding-agent/script";
import { locate, type Position, signaturesOf } from "./conversation.ts";
import { readJson, refuse, sendError, sendJson } from "./http.ts";
import { listOf, member, textOf } from "./json.ts";
import { type Plan, planText, planTurn, summarize } from "./plan.ts";
import { isIdentified, resourceOf } from "./resource.ts";
import { estimateTokens, minimalValue, type ResponseContext, wholeAnswer } from "./response.ts";
import { streamAnswer } from "./stream-answer.ts";

/** What a fake Gemini is told. */
export interface FakeGeminiOptions {
  /** The port on loopback. Default 0: a free one. */
  readonly port?: number;
  /** Answers come so many milliseconds late. Default 0. */
  readonly latencyMs?: number;
  /** Pieces of an answer come so many milliseconds apart. Default 0. */
  readonly chunkDelayMs?: number;
}

/** A fake Gemini that listens. */
export interface FakeGemini extends AsyncDisposable {
  /** Its base URL: `http://127.0.0.1:port`. */
  readonly url: string;
  /** The last 100 requests for an answer, the newest last. */
  requests(): readonly FakeRequest[];
  /** Counts what was asked since the start or the last `reset`. */
  stats(): FakeStats;
  /** Forgets requests, counts and tries. */
  reset(): void;
}

/** A request for an answer. */
export interface FakeRequest {
  /** `generateContent` or `streamGenerateContent`. */
  readonly method: string;
  readonly model: string;
  /** The path, with the version and, for Vertex AI, the project and location. */
  readonly path: string;
  /** The headers as they came, credentials too; their names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The prompt that is answered. */
  readonly prompt: string;
  /** So many turns with calls came since the prompt. */
  readonly round: number;
  /** Counts the tries of this turn, this one included. */
  readonly attempt: number;
  /** The names of the functions that were declared. */
  readonly tools: readonly string[];
  /** The signatures that came back with calls. */
  readonly signatures: readonly string[];
  /** The request as it came. */
  readonly body: unknown;
}

/** Counts requests. */
export interface FakeStats {
  readonly requests: number;
  readonly byMethod: Readonly<Record<string, number>>;
}

const KEPT = 100;

/**
 * Starts a Gemini API on loopback that needs no key and plays each prompt as a script (docs/scripted-agent.md): the same
 * prompt always gives the same answer, but for ids that count up. It answers at the addresses of Vertex AI too, there to
 * any bearer token or, in express mode, any key. Resolves when it listens.
 */
export async function startFakeGemini(options: FakeGeminiOptions = {}): Promise<FakeGemini> {
  const fake = new Fake(options);
  const server = createServer((request, response) => {
    fake.route(request, response).catch((reason: unknown) => refuse(response, reason));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    requests: () => fake.recent,
    stats: () => fake.stats,
    reset: () => fake.reset(),
    [Symbol.asyncDispose]: () => close(server),
  };
}

class Fake {
  recent: FakeRequest[] = [];
  stats: FakeStats = { requests: 0, byMethod: {} };
  readonly #options: FakeGeminiOptions;
  #attempts = new Map<string, number>();
  #serial = 0;

  constructor(options: FakeGeminiOptions) {
    this.#options = options;
  }

  reset(): void {
    this.recent = [];
    this.stats = { requests: 0, byMethod: {} };
    this.#attempts = new Map();
  }

  async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://fake");
    if (pathname.startsWith("/__fake/")) return this.#control(pathname, response);
    const resource = resourceOf(pathname);
    if (!resource || request.method !== "POST") {
      return sendError(response, { code: 404, message: `no such resource: ${request.method} ${pathname}` });
    }
    const { headers } = request;
    if (!isIdentified(resource, headers)) {
      return sendError(response, { code: 401, message: "the request says not who asks" });
    }
    const { model, method } = resource;
    this.#count(method);
    const body = await readJson(request);
    if (method.endsWith("enerateContent")) {
      return this.#generate({ method, model, path: pathname, headers, body }, response);
    }
    const answer = answerOf(method, body);
    if (answer === undefined) return sendError(response, { code: 404, message: `no such method: ${method}` });
    sendJson(response, 200, answer);
  }

  #control(pathname: string, response: ServerResponse): void {
    if (pathname === "/__fake/reset") this.reset();
    const requests = this.recent.map(({ body: _whole, headers: _secret, ...request }) => request);
    sendJson(response, 200, pathname === "/__fake/requests" ? requests : this.stats);
  }

  #count(method: string): void {
    const { requests, byMethod } = this.stats;
    this.stats = { requests: requests + 1, byMethod: { ...byMethod, [method]: (byMethod[method] ?? 0) + 1 } };
  }

  async #generate(asked: Asked, response: ServerResponse): Promise<void> {
    const contents = member(asked.body, "contents");
    const position = locate(contents);
    const attempt = this.#attempt(position);
    this.#note(asked, { position, attempt });
    const plan = planFor(asked.body, position, { attempt, serial: ++this.#serial });
    const { latencyMs = 0, chunkDelayMs = 0 } = this.#options;
    if (latencyMs > 0) await sleep(latencyMs);
    if (plan.fail) return sendError(response, { ...plan.fail, message: `Scripted failure ${plan.fail.code}.` });
    const context: ResponseContext = {
      model: asked.model,
      responseId: `fake-${this.#serial}`,
      promptTokens: estimateTokens(contents),
    };
    if (asked.method === "generateContent") return sendJson(response, 200, wholeAnswer(plan, context));
    await streamAnswer(response, plan, { ...context, chunkDelayMs });
  }

  #attempt({ prompt, round }: Position): number {
    const key = `${round}\n${prompt}`;
    const attempt = (this.#attempts.get(key) ?? 0) + 1;
    this.#attempts.set(key, attempt);
    return attempt;
  }

  #note(asked: Asked, { position, attempt }: { readonly position: Position; readonly attempt: number }): void {
    const tools = listOf(member(asked.body, "tools"))
      .flatMap((tool) => listOf(member(tool, "functionDeclarations")))
      .map((declaration) => textOf(member(declaration, "name")));
    const { prompt, round } = position;
    const signatures = signaturesOf(member(asked.body, "contents"));
    this.recent = [...this.recent.slice(1 - KEPT), { ...asked, prompt, round, attempt, tools, signatures }];
  }
}

type Asked = Pick<FakeRequest, "method" | "model" | "path" | "headers" | "body">;

function planFor(
  body: unknown,
  { prompt, round, responses }: Position,
  context: { readonly attempt: number; readonly serial: number },
): Plan {
  const config = member(body, "generationConfig");
  if (member(config, "responseMimeType") === "application/json") {
    const schema = member(config, "responseJsonSchema") ?? member(config, "responseSchema");
    return planText(JSON.stringify(minimalValue(schema)));
  }
  const turns = parseScript(prompt);
  if (!turns) return planText(`You said: ${prompt.slice(0, 200)}`);
  const turn = turns[round];
  return turn ? planTurn(turn, context) : planText(summarize(responses));
}

/** What the methods answer that make no content; undefined for an unknown one. */
function answerOf(method: string, body: unknown): unknown {
  switch (method) {
    case "countTokens": {
      const request = member(body, "generateContentRequest");
      return { totalTokens: estimateTokens(member(body, "contents") ?? member(request, "contents")) };
    }
    case "embedContent":
      return { embedding: { values: [0, 0, 0] } };
    case "batchEmbedContents":
      return { embeddings: listOf(member(body, "requests")).map(() => ({ values: [0, 0, 0] })) };
    default:
      return undefined;
  }
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
