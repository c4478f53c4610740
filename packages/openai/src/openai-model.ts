import { type Model, SdkClient } from "@devtool/coding-agent/model";
import { objectOrEmpty } from "@devtool/internal/json";
import { ToolNames } from "@devtool/internal/tool-names";
import { ChatReader } from "./chat-reader.ts";
import { encodeChatRequest } from "./chat-request.ts";
import { loadOpenAi } from "./openai-client.ts";
import { type OpenAiOptions, resolveOptions } from "./openai-options.ts";
import { ResponsesReader } from "./responses-reader.ts";
import { encodeResponsesRequest } from "./responses-request.ts";

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
export function createOpenAiModel(options: OpenAiOptions): Model {
  const { model: name, api, maxInputTokens } = resolveOptions(options);
  const client = new SdkClient(() => loadOpenAi(options), options);

  return {
    name,
    provider: "openai",
    maxInputTokens,
    inputModes: INPUT_MODES,
    load: () => client.load(),
    async *generate(request, signal) {
      const names = new ToolNames(request.tools, MAX_TOOL_NAME_LENGTH);
      const model = request.model || name;
      const { history } = request;
      if (api === "responses") {
        const body = await encodeResponsesRequest(request, model, names);
        return yield* client.generate(
          {
            send: (sdk, abort) => sdk.responses.create(body, { signal: abort }),
            createReader: () => new ResponsesReader(names),
            history,
          },
          signal,
        );
      }
      const body = await encodeChatRequest(request, model, names);
      yield* client.generate(
        {
          send: (sdk, abort) =>
            sdk.chat.completions.create(body, { signal: abort }),
          createReader: () => new ChatReader(names),
          history,
        },
        signal,
      );
    },
    /**
     * Lists the models in the server's order. OpenAI does not say which of them
     * can chat, nor the size of their context.
     */
    async listModels(signal) {
      const listed = client.ask(
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
