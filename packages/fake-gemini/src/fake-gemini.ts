import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseScript } from "@devtool/coding-agent/script";
import {
  estimateTokens,
  type FakeModel,
  type FakeModelOptions,
  type FakeRequest,
  type FakeStats,
  type Plan,
  type PlanContext,
  planText,
  planTurn,
  readJson,
  sendJson,
  streamAnswer,
  summarize,
} from "@devtool/fake-model";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { listSignatures, locate, type Position } from "./conversation.ts";
import { sendError, sendFailure } from "./http.ts";
import { hasCredentials, parseResource } from "./resource.ts";
import {
  createWholeResponse,
  minimalValue,
  type ResponseContext,
  streamEncoder,
} from "./response.ts";

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
 * script (docs/models.md).
 *
 * The same prompt always gives the same response, except for ids, which ascend.
 * The API of Vertex AI is served too: it accepts any bearer token or, in
 * express mode, any key. Resolves when the server listens.
 */
export async function startFakeGemini(
  options: FakeModelOptions = {},
): Promise<FakeModel> {
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
  readonly #options: FakeModelOptions;
  #attempts = new Map<string, number>();
  #serial = 0;

  constructor(options: FakeModelOptions) {
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
    const serial = ++this.#serial;
    const plan = choosePlan(asked.body, position, {
      attempt,
      serial,
      // The calls of a script are made whether they are declared or not.
      tools: [],
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
      serial,
      promptTokens: estimateTokens(contents),
    };
    if (asked.method === "generateContent") {
      return sendJson(response, 200, createWholeResponse(plan, context));
    }
    await streamAnswer(response, plan, streamEncoder(context), chunkDelayMs);
  }
}

type Asked = Pick<
  FakeRequest,
  "method" | "model" | "path" | "headers" | "body"
>;

function choosePlan(
  body: unknown,
  { prompt, round, results }: Position,
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
  return turn ? planTurn(turn, context) : planText(summarize(results));
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
