import {
  generateRemotely,
  type Model,
  type ModelEvent,
  type RemoteOptions,
  ToolNames,
} from "@devtool/coding-agent/model";
import { objectOrEmpty } from "@devtool/internal/json";
import { ChatReader } from "./chat-reader.ts";
import { encodeChatRequest } from "./chat-request.ts";
import { createOpenAiClient } from "./openai-client.ts";
import { type OpenAiOptions, resolveOptions } from "./openai-options.ts";
import { ResponsesReader } from "./responses-reader.ts";
import { encodeResponsesRequest } from "./responses-request.ts";

/** The options of `createOpenAiModel`. */
export interface OpenAiModelOptions extends OpenAiOptions {
  /**
   * Returns a number from 0 to below 1, for the random part of the waits
   * between attempts. Default: `Math.random`.
   */
  readonly random?: () => number;
  /** Waits between attempts, in milliseconds. Default: the platform's timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The media types that OpenAI's models accept besides text. */
const INPUT_MODES: readonly string[] = ["image/*", "application/pdf"];

/** The maximum length of a tool's name in OpenAI's API. */
const MAX_TOOL_NAME_LENGTH = 64;

/**
 * Creates a model that generates with OpenAI's API, at OpenAI or at another
 * server that has it (Ollama, vLLM).
 *
 * A request is sent again as long as nothing of its answer has come. An answer
 * that breaks off later fails the step: its text stays, and none of its calls
 * runs. The key appears in no error and no notice. See `docs/models.md` for
 * each fault. Throws a `DevtoolError` when the options have neither a key nor a
 * model.
 */
export function createOpenAiModel(options: OpenAiModelOptions): Model {
  const { model: name, api, maxInputTokens } = resolveOptions(options);
  const { retry, timeouts, random = Math.random, sleep } = options;
  const { apiKey: secret = "" } = options;
  const remoteOptions: RemoteOptions = { retry, timeouts, random, sleep };
  const ask = createOpenAiClient(options);

  return {
    name,
    maxInputTokens,
    inputModes: INPUT_MODES,
    async *generate(request, signal): AsyncIterable<ModelEvent> {
      const names = new ToolNames(request.tools, MAX_TOOL_NAME_LENGTH);
      const model = request.model || name;
      if (api === "responses") {
        const body = await encodeResponsesRequest(request, model, names);
        const remote = {
          ask: (attempt: AbortSignal) =>
            ask(
              (sdk, abort) => sdk.responses.create(body, { signal: abort }),
              attempt,
            ),
          createReader: () => new ResponsesReader(names),
          secret,
          history: request.history,
        };
        return yield* generateRemotely(remote, remoteOptions, signal);
      }
      const body = await encodeChatRequest(request, model, names);
      const remote = {
        ask: (attempt: AbortSignal) =>
          ask(
            (sdk, abort) =>
              sdk.chat.completions.create(body, { signal: abort }),
            attempt,
          ),
        createReader: () => new ChatReader(names),
        secret,
        history: request.history,
      };
      yield* generateRemotely(remote, remoteOptions, signal);
    },
    /**
     * Lists the models in the server's order. OpenAI does not say which of them
     * can chat, nor the size of their context.
     */
    async listModels(signal) {
      const listed = ask(
        (sdk, abort) => sdk.models.list({ signal: abort }),
        signal,
      );
      return Array.fromAsync(listed, (model) => ({
        name: model.id,
        contextWindowTokens: contextWindowOf(model),
      }));
    },
  };
}

/**
 * Reads the size of a listed model's context, in tokens, from the fields that
 * vLLM, OpenRouter and Groq add. Undefined when the server does not give it.
 */
function contextWindowOf(model: unknown): number | undefined {
  const { max_model_len, context_length, context_window } =
    objectOrEmpty(model);
  return [max_model_len, context_length, context_window]
    .filter((size) => typeof size === "number")
    .find((size) => Number.isSafeInteger(size) && size > 0);
}
