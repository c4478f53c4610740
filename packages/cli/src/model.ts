import { create } from "@bufbuild/protobuf";
import { anthropicOptionsFrom, createAnthropicModel } from "@devtool/anthropic";
import type { Model } from "@devtool/coding-agent/model";
import { createGeminiModel, geminiOptionsFrom } from "@devtool/gemini";
import { defined } from "@devtool/internal/json";
import { createOpenAiModel, openAiOptionsFrom } from "@devtool/openai";
import { type ModelConfig, ModelConfigSchema } from "@devtool/schema/operator";

/** The APIs through which models are called. */
export type ModelApi = "gemini" | "openai" | "anthropic";

/** The model that the command uses, and why. */
export interface ModelChoice {
  readonly api: ModelApi;
  readonly model: Model;
  /**
   * Where its requests go: a host, with a port if it is unusual. Empty for the
   * vendor's own.
   */
  readonly host: string;
  /** The APIs that could answer as well, because there are keys for them. */
  readonly others: readonly ModelApi[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The names of the APIs in messages. */
export const API_NAMES: Readonly<Record<ModelApi, string>> = {
  gemini: "Gemini",
  openai: "OpenAI's API",
  anthropic: "Anthropic",
};

/** The APIs in the order in which a key chooses among them. */
export const APIS: readonly ModelApi[] = ["gemini", "openai", "anthropic"];

/**
 * A name as the user gives it: the API, if the name has its prefix, and the
 * model there.
 */
interface ModelName {
  readonly api: ModelApi | undefined;
  readonly openAiApi: Parameters<typeof createOpenAiModel>[0]["api"];
  /** Empty: the default of the API. */
  readonly name: string;
}

/**
 * The prefixes of names. Any other colon belongs to the name, as in `qwen3:8b`.
 */
const PREFIXES: Readonly<Record<string, Omit<ModelName, "name">>> = {
  gemini: { api: "gemini", openAiApi: undefined },
  openai: { api: "openai", openAiApi: undefined },
  "openai-responses": { api: "openai", openAiApi: "responses" },
  "openai-chat": { api: "openai", openAiApi: "chat-completions" },
  anthropic: { api: "anthropic", openAiApi: undefined },
};

/**
 * Returns the model that the flag `--model`, the config file and the
 * environment choose; undefined for the scripted model.
 *
 * A name's prefix chooses the API. A name without a prefix uses the first of
 * Gemini, OpenAI and Anthropic that has a key (for OpenAI's API, a base URL
 * with the name of a model is enough). A base URL of the config file is that of
 * the API of the name there, and no other API gets a key of its own to it.
 * Nothing in a workspace is read. Throws an `Error` for an API without a key.
 */
export function chooseModel(
  config: ModelConfig | undefined,
  env: Environment,
  flag: string | undefined,
): ModelChoice | undefined {
  const configured = config ?? create(ModelConfigSchema);
  const text = flag ?? configured.name;
  const named = parseName(text);
  const environment =
    named.name === "" ? env : { ...env, OPENAI_MODEL: named.name };
  const available = APIS.filter((api) =>
    isConfigured(api, configured, environment),
  );
  const api = named.api ?? available[0];
  if (!api) {
    if (flag === undefined) return undefined;
    throw new Error(
      `--model ${flag} needs a key: set GEMINI_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY`,
    );
  }
  const { api: owner = api } = parseName(configured.name);
  const settings = owner === api ? configured : { ...configured, baseUrl: "" };
  const model = createModel(api, named, settings, environment);
  if (!model) {
    throw new Error(
      `model ${JSON.stringify(text)} has no key: ${KEY_REMEDIES[api]}`,
    );
  }
  const others = available.filter((other) => other !== api);
  // The whole URL may hold a password, so messages get its host alone.
  const host =
    URL.parse(settings.baseUrl || (env[BASE_URLS[api]] ?? ""))?.host ?? "";
  return { api, model, host, others };
}

function parseName(text: string): ModelName {
  const [, prefix = "", rest = ""] = /^([a-z-]+):(.*)$/s.exec(text) ?? [];
  const known = Object.hasOwn(PREFIXES, prefix) ? PREFIXES[prefix] : undefined;
  return known
    ? { ...known, name: rest }
    : { api: undefined, openAiApi: undefined, name: text };
}

const KEY_REMEDIES: Readonly<Record<ModelApi, string>> = {
  gemini: "set GEMINI_API_KEY, or a project on Vertex AI",
  openai: "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none",
  anthropic: "set ANTHROPIC_API_KEY",
};

export const BASE_URLS: Readonly<Record<ModelApi, string>> = {
  gemini: "GOOGLE_GEMINI_BASE_URL",
  openai: "OPENAI_BASE_URL",
  anthropic: "ANTHROPIC_BASE_URL",
};

function isConfigured(
  api: ModelApi,
  settings: ModelConfig,
  env: Environment,
): boolean {
  switch (api) {
    case "gemini":
      return geminiOptionsFrom(geminiEnvironment(settings, env)) !== undefined;
    case "openai":
      return openAiOptionsFrom(env) !== undefined;
    case "anthropic":
      return anthropicOptionsFrom(env) !== undefined;
    default:
      return api satisfies never;
  }
}

/**
 * Creates the model; undefined when the API has neither a key nor anything that
 * replaces one.
 */
function createModel(
  api: ModelApi,
  named: ModelName,
  settings: ModelConfig,
  env: Environment,
): Model | undefined {
  const chosen = defined({
    model: named.name || undefined,
    baseUrl: settings.baseUrl || undefined,
  });
  switch (api) {
    case "gemini": {
      const options = geminiOptionsFrom(geminiEnvironment(settings, env));
      return options && createGeminiModel({ ...options, ...chosen });
    }
    case "openai": {
      const options =
        openAiOptionsFrom(env) ?? (settings.baseUrl === "" ? undefined : {});
      return (
        options &&
        createOpenAiModel({
          ...options,
          ...chosen,
          ...defined({ api: named.openAiApi }),
        })
      );
    }
    case "anthropic": {
      const options = anthropicOptionsFrom(env);
      return options && createAnthropicModel({ ...options, ...chosen });
    }
    default:
      return api satisfies never;
  }
}

function geminiEnvironment(
  { vertexProject, vertexLocation }: ModelConfig,
  env: Environment,
): Environment {
  return {
    ...env,
    ...(vertexProject === ""
      ? {}
      : {
          GOOGLE_GENAI_USE_VERTEXAI: "true",
          GOOGLE_CLOUD_PROJECT: vertexProject,
        }),
    ...(vertexLocation === "" ? {} : { GOOGLE_CLOUD_LOCATION: vertexLocation }),
  };
}

/**
 * Describes a choice in a line: the model, the API, and what else could answer.
 */
export function describeChoice({
  api,
  model,
  host,
  others,
}: ModelChoice): string {
  const at = host === "" ? "" : ` at ${host}`;
  const more =
    others.length === 0
      ? ""
      : `; ${others.map((other) => API_NAMES[other]).join(" and ")} with --model`;
  return `${model.name} (${API_NAMES[api]}${at}${more})`;
}
