import { type Model, SdkClient } from "@devtool/coding-agent/model";
import { ToolNames } from "@devtool/internal/tool-names";
import { loadAnthropic } from "./anthropic-client.ts";
import { type AnthropicOptions, DEFAULT_MODEL } from "./anthropic-options.ts";
import { MessagesReader } from "./messages-reader.ts";
import { encodeMessagesRequest } from "./messages-request.ts";

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
export function createAnthropicModel(options: AnthropicOptions): Model {
  const { model: name = DEFAULT_MODEL, maxInputTokens = 200_000 } = options;
  const { maxOutputTokens = 32_000, thinking = "adaptive" } = options;
  const client = new SdkClient(() => loadAnthropic(options), options);

  return {
    name,
    provider: "anthropic",
    maxInputTokens,
    inputModes: INPUT_MODES,
    load: () => client.load(),
    async *generate(request, signal) {
      const names = new ToolNames(request.tools, MAX_TOOL_NAME_LENGTH);
      const limits = {
        model: request.model || name,
        maxOutputTokens,
        thinking,
      };
      const body = await encodeMessagesRequest(request, limits, names);
      yield* client.generate(
        {
          send: ({ messages }, abort) =>
            messages.create(body, { signal: abort }),
          createReader: () => new MessagesReader(names),
          history: request.history,
        },
        signal,
      );
    },
    /** Lists the models of the account, the newest first. */
    async listModels(signal) {
      const listed = client.ask(
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
