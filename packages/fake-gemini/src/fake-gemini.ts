import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseScript } from "@devtool/coding-agent/script";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/schema/json";
import { listSignatures, locate, type Position } from "./conversation.ts";
import { readJson, sendError, sendFailure, sendJson } from "./http.ts";
import {
  type Plan,
  type PlanContext,
  planText,
  planTurn,
  summarize,
} from "./plan.ts";
import { hasCredentials, parseResource } from "./resource.ts";
import {
  createWholeResponse,
  estimateTokens,
  minimalValue,
  type ResponseContext,
} from "./response.ts";
import { streamResponse } from "./stream-response.ts";

/** Options of `startFakeGemini`. */
export interface FakeGeminiOptions {
  /** Port on loopback. Default: 0, a free one. */
  readonly port?: number;
  /** Delay before each response, in milliseconds. Default: 0. */
  readonly latencyMs?: number;
  /** Delay between the chunks of a stream, in milliseconds. Default: 0. */
  readonly chunkDelayMs?: number;
}

/** A running fake Gemini. */
export interface FakeGemini extends AsyncDisposable {
  /** Base URL: `http://127.0.0.1:port`. */
  readonly url: string;
  /** The last 100 requests for content, oldest first. */
  requests(): readonly FakeRequest[];
  /** Number of requests since the start or the last `reset`. */
  stats(): FakeStats;
  /** Forgets all requests, counts and attempts. */
  reset(): void;
}

/** A request for content. */
export interface FakeRequest {
  /** `generateContent` or `streamGenerateContent`. */
  readonly method: string;
  readonly model: string;
  /**
   * Path, including the version and, for Vertex AI, the project and location.
   */
  readonly path: string;
  /** Headers as received, including credentials. Names are in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The prompt to respond to. */
  readonly prompt: string;
  /** Number of the model's turns with calls since the prompt. */
  readonly round: number;
  /** Number of this attempt at the turn, from 1. */
  readonly attempt: number;
  /** Names of the declared functions. */
  readonly tools: readonly string[];
  /** Signatures that the agent sent back with calls. */
  readonly signatures: readonly string[];
  /** The parsed body. */
  readonly body: unknown;
}

/** Numbers of requests. */
export interface FakeStats {
  readonly requests: number;
  readonly byMethod: Readonly<Record<string, number>>;
}

const KEPT = 100;

/** The list of models, of the Gemini API or of Vertex AI. */
const MODELS_PATH =
  /^\/v1(?:alpha|beta|beta1)?\/(?:publishers\/google\/)?models$/;

/** The models that are listed. Any other name works as well. */
const MODELS = [
  {
    name: "models/gemini-test",
    displayName: "Gemini Test",
    inputTokenLimit: 1_048_576,
    supportedGenerationMethods: ["generateContent", "countTokens"],
  },
  {
    name: "models/embedding-test",
    inputTokenLimit: 2048,
    supportedGenerationMethods: ["embedContent"],
  },
];

/**
 * Starts a Gemini API on loopback that needs no key and plays each prompt as a
 * script (docs/scripted-agent.md).
 *
 * The same prompt always gives the same response, except for ids, which ascend.
 * The API of Vertex AI is served too: it accepts any bearer token or, in
 * express mode, any key. Resolves when the server listens.
 */
export async function startFakeGemini(
  options: FakeGeminiOptions = {},
): Promise<FakeGemini> {
  const fake = new Fake(options);
  const server = createServer((request, response) => {
    fake
      .route(request, response)
      .catch((reason: unknown) => sendFailure(response, reason));
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
    if (request.method === "GET" && MODELS_PATH.test(pathname)) {
      return sendJson(response, 200, { models: MODELS });
    }
    const resource = parseResource(pathname);
    if (!resource || request.method !== "POST") {
      return sendError(response, {
        code: 404,
        message: `no such resource: ${request.method} ${pathname}`,
      });
    }
    const { headers } = request;
    if (!hasCredentials(resource, headers)) {
      return sendError(response, {
        code: 401,
        message:
          "the request has no credentials: send a bearer token or an API key",
      });
    }
    const { model, method } = resource;
    const { requests, byMethod } = this.stats;
    this.stats = {
      requests: requests + 1,
      byMethod: { ...byMethod, [method]: (byMethod[method] ?? 0) + 1 },
    };
    const body = await readJson(request);
    if (method.endsWith("enerateContent")) {
      return this.#generate(
        { method, model, path: pathname, headers, body },
        response,
      );
    }
    const answer = callOtherMethod(method, body);
    if (answer === undefined) {
      return sendError(response, {
        code: 404,
        message: `no such method: ${method}`,
      });
    }
    sendJson(response, 200, answer);
  }

  async #generate(asked: Asked, response: ServerResponse): Promise<void> {
    const { tools: declared, contents } = objectOrEmpty(asked.body);
    const position = locate(contents);
    const { prompt, round } = position;
    const turn = `${round}\n${prompt}`;
    const attempt = (this.#attempts.get(turn) ?? 0) + 1;
    this.#attempts.set(turn, attempt);
    const tools = listOrEmpty(declared)
      .flatMap((tool) => listOrEmpty(objectOrEmpty(tool).functionDeclarations))
      .map((declaration) => stringOrEmpty(objectOrEmpty(declaration).name));
    const request = {
      ...asked,
      prompt,
      round,
      attempt,
      tools,
      signatures: listSignatures(contents),
    };
    this.recent = [...this.recent.slice(1 - KEPT), request];
    const plan = choosePlan(asked.body, position, {
      attempt,
      serial: ++this.#serial,
    });
    const { latencyMs = 0, chunkDelayMs = 0 } = this.#options;
    if (latencyMs > 0) await sleep(latencyMs);
    if (plan.fail) {
      return sendError(response, {
        ...plan.fail,
        message: `Scripted failure ${plan.fail.code}.`,
      });
    }
    const context: ResponseContext = {
      model: asked.model,
      responseId: `fake-${this.#serial}`,
      promptTokens: estimateTokens(contents),
    };
    if (asked.method === "generateContent") {
      return sendJson(response, 200, createWholeResponse(plan, context));
    }
    await streamResponse(response, plan, { ...context, chunkDelayMs });
  }
}

type Asked = Pick<
  FakeRequest,
  "method" | "model" | "path" | "headers" | "body"
>;

function choosePlan(
  body: unknown,
  { prompt, round, responses }: Position,
  context: PlanContext,
): Plan {
  const config = objectOrEmpty(objectOrEmpty(body).generationConfig);
  if (config.responseMimeType === "application/json") {
    return planText(
      JSON.stringify(
        minimalValue(config.responseJsonSchema ?? config.responseSchema),
      ),
    );
  }
  const turns = parseScript(prompt);
  if (!turns) return planText(`You said: ${prompt.slice(0, 200)}`);
  const turn = turns[round];
  return turn ? planTurn(turn, context) : planText(summarize(responses));
}

/**
 * Responds to methods other than content generation. Undefined for an unknown
 * method.
 */
function callOtherMethod(method: string, body: unknown): unknown {
  switch (method) {
    case "countTokens": {
      const { contents, generateContentRequest } = objectOrEmpty(body);
      return {
        totalTokens: estimateTokens(
          contents ?? objectOrEmpty(generateContentRequest).contents,
        ),
      };
    }
    case "embedContent":
      return { embedding: { values: [0, 0, 0] } };
    case "batchEmbedContents":
      return {
        embeddings: listOrEmpty(objectOrEmpty(body).requests).map(() => ({
          values: [0, 0, 0],
        })),
      };
    default:
      return undefined;
  }
}
