import type { RemoteOptions } from "@devtool/coding-agent/model";
import { defined } from "@devtool/internal/json";
import { Code, DevtoolError } from "@devtool/server/agent";

/** The APIs of OpenAI that generate text. */
export type OpenAiApi = "responses" | "chat-completions";

/**
 * How to reach OpenAI, or a server with the same API such as Ollama's or
 * vLLM's, and how long to wait for it.
 */
export interface OpenAiOptions extends RemoteOptions {
  /**
   * The model of sessions that choose none. Default: `gpt-5.5`; required
   * without a key.
   */
  readonly model?: string;
  /**
   * The key, sent as `Authorization: Bearer`. Default: none, and requests do
   * not have the header.
   */
  readonly apiKey?: string;
  /**
   * The base URL of the API, for instance `http://127.0.0.1:11434/v1`. Default:
   * OpenAI's.
   */
  readonly baseUrl?: string;
  /**
   * The API to use. Default: `responses` at OpenAI, otherwise
   * `chat-completions`, which more servers have.
   */
  readonly api?: OpenAiApi;
  /** The organization that pays for requests. Default: that of the key. */
  readonly organization?: string;
  /** The project that requests belong to. Default: that of the key. */
  readonly project?: string;
  /**
   * The maximum size of a request, in tokens. Default: 272,000 at OpenAI,
   * otherwise 128,000.
   */
  readonly maxInputTokens?: number;
}

/** The model of sessions and servers that choose none. */
const DEFAULT_MODEL = "gpt-5.5";

/**
 * Reads the environment variables that OpenAI's own tools read:
 * `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID`;
 * and `OPENAI_MODEL`. One that is blank counts as not set.
 *
 * Undefined when they name neither a key nor a base URL with a model.
 */
export function openAiOptionsFrom(
  environment: Readonly<Record<string, string | undefined>>,
): OpenAiOptions | undefined {
  const read = (name: string): string | undefined =>
    environment[name]?.trim() || undefined;
  const [apiKey, baseUrl] = [read("OPENAI_API_KEY"), read("OPENAI_BASE_URL")];
  const model = read("OPENAI_MODEL");
  if (apiKey === undefined && (baseUrl === undefined || model === undefined)) {
    return undefined;
  }
  const [organization, project] = [
    read("OPENAI_ORG_ID"),
    read("OPENAI_PROJECT_ID"),
  ];
  return defined({ model, apiKey, baseUrl, organization, project });
}

/** Options in which nothing is left open. */
export interface ResolvedOptions {
  readonly model: string;
  readonly api: OpenAiApi;
  readonly maxInputTokens: number;
}

/**
 * Fills in the defaults. Throws a `DevtoolError` when there is neither a key
 * nor a model: a server of others needs its name.
 */
export function resolveOptions({
  model,
  apiKey,
  baseUrl,
  api,
  maxInputTokens,
}: OpenAiOptions): ResolvedOptions {
  if (model === undefined && apiKey === undefined) {
    const problem = "a server without a key has no default model";
    throw new DevtoolError(problem, Code.InvalidArgument, {
      remedy: "name one, for instance with OPENAI_MODEL",
    });
  }
  const [ownApi, ownLimit] = baseUrl === undefined ? OPENAI : OTHERS;
  return {
    model: model ?? DEFAULT_MODEL,
    api: api ?? ownApi,
    maxInputTokens: maxInputTokens ?? ownLimit,
  };
}

const OPENAI: readonly [api: OpenAiApi, maxInputTokens: number] = [
  "responses",
  272_000,
];
const OTHERS: readonly [api: OpenAiApi, maxInputTokens: number] = [
  "chat-completions",
  128_000,
];
