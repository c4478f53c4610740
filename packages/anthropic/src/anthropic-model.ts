import {
  generateRemotely,
  type Model,
  type ModelEvent,
  ToolNames,
} from "@devtool/coding-agent/model";
import { createAnthropicClient } from "./anthropic-client.ts";
import { type AnthropicOptions, DEFAULT_MODEL } from "./anthropic-options.ts";
import { MessagesReader } from "./messages-reader.ts";
import { encodeMessagesRequest } from "./messages-request.ts";

/** The options of `createAnthropicModel`. */
export interface AnthropicModelOptions extends AnthropicOptions {
  /**
   * Returns a number from 0 to below 1, for the random part of the waits
   * between attempts. Default: `Math.random`.
   */
  readonly random?: () => number;
  /** Waits between attempts, in milliseconds. Default: the platform's timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The media types that Anthropic's models accept besides text. */
const INPUT_MODES: readonly string[] = ["image/*", "application/pdf"];

/** The maximum length of a tool's name in Anthropic's API. */
const MAX_TOOL_NAME_LENGTH = 128;

/**
 * Creates a model that generates with Anthropic's Messages API.
 *
 * A request is sent again as long as nothing of its answer has come. An answer
 * that breaks off later fails the step: its text stays, and none of its calls
 * runs. The key appears in no error and no notice. See `docs/models.md` for
 * each fault.
 */
export function createAnthropicModel(options: AnthropicModelOptions): Model {
  const {
    model: name = DEFAULT_MODEL,
    maxInputTokens = 200_000,
    apiKey: secret = "",
  } = options;
  const { maxOutputTokens = 32_000, thinking = "adaptive" } = options;
  const { retry, timeouts, random = Math.random, sleep } = options;
  const ask = createAnthropicClient(options);

  return {
    name,
    maxInputTokens,
    inputModes: INPUT_MODES,
    async *generate(request, signal): AsyncIterable<ModelEvent> {
      const names = new ToolNames(request.tools, MAX_TOOL_NAME_LENGTH);
      const limits = {
        model: request.model || name,
        maxOutputTokens,
        thinking,
      };
      const body = await encodeMessagesRequest(request, limits, names);
      const remote = {
        ask: (attempt: AbortSignal) =>
          ask(
            ({ messages }, abort) => messages.create(body, { signal: abort }),
            attempt,
          ),
        createReader: () => new MessagesReader(names),
        secret,
        history: request.history,
      };
      yield* generateRemotely(
        remote,
        { retry, timeouts, random, sleep },
        signal,
      );
    },
    /** Lists the models of the account, the newest first. */
    async listModels(signal) {
      const listed = ask(
        ({ models }, abort) => models.list({}, { signal: abort }),
        signal,
      );
      return Array.fromAsync(
        listed,
        ({ id, display_name, max_input_tokens }) => ({
          name: id,
          displayName: display_name,
          // Servers other than Anthropic's leave the size out.
          contextWindowTokens: max_input_tokens ?? undefined,
        }),
      );
    },
  };
}
