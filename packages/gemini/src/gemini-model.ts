import {
  type Model,
  type ModelRequest,
  modelHistory,
} from "@devtool/coding-agent/model";
import { defined } from "@devtool/internal/json";
import type { GenerateContentParameters } from "@google/genai";
import { GeminiAnswerReader } from "./answer-reader.ts";
import { createGeminiClient, openAnswer } from "./gemini-client.ts";
import { DEFAULT_MODEL, type GeminiOptions } from "./gemini-options.ts";
import { encodeContents, encodeTools, signContents } from "./translate.ts";

/** The media types that Gemini accepts besides text. */
const INPUT_MODES: readonly string[] = [
  "image/*",
  "audio/*",
  "video/*",
  "application/pdf",
];

/**
 * Creates a model that generates with Gemini, over the Gemini API or Vertex AI.
 *
 * A request is sent again as long as nothing of its answer has come. An answer
 * that breaks off later fails the step: its text stays, and none of its calls
 * runs. The key appears in no error and no notice. See `docs/models.md` for
 * each fault.
 */
export function createGeminiModel(options: GeminiOptions): Model {
  const { model: name = DEFAULT_MODEL, maxInputTokens = 1_048_576 } = options;
  const client = createGeminiClient(options);

  return {
    name,
    provider: options.vertex ? "gcp.vertex_ai" : "gcp.gemini",
    maxInputTokens,
    inputModes: INPUT_MODES,
    load: () => client.load(),
    async *generate(request, signal) {
      const parameters = await encodeRequest(request, name);
      yield* client.generate(
        {
          send: ({ models }, abort) => {
            const config = { ...parameters.config, abortSignal: abort };
            return openAnswer(
              models.generateContentStream({ ...parameters, config }),
              abort,
            );
          },
          createReader: () => new GeminiAnswerReader(),
          history: request.history,
        },
        signal,
      );
    },
    async listModels(signal) {
      const config = { abortSignal: signal, pageSize: 1000 };
      const listed = await Array.fromAsync(
        client.ask(
          ({ models }, abort) => openAnswer(models.list({ config }), abort),
          signal,
        ),
      );
      return listed
        .filter(({ supportedActions = ["generateContent"] }) =>
          supportedActions.includes("generateContent"),
        )
        .map(({ name: path = "", displayName, inputTokenLimit }) => ({
          name: path.replace(/^.*\//, ""),
          displayName,
          contextWindowTokens: inputTokenLimit,
        }));
    },
  };
}

/** Encodes a request that the SDK sends once. */
async function encodeRequest(
  request: ModelRequest,
  defaultModel: string,
): Promise<GenerateContentParameters> {
  const systemInstruction = (await request.instructions()) || undefined;
  const model = request.model || defaultModel;
  const contents = encodeContents(modelHistory(request.history));
  const tools = encodeTools(request.tools);
  // Asking a model without thoughts for its thoughts is an error of the API.
  const canThink = !/(^|\/)(gemini-(1|2\.0)|gemma)/.test(model);
  const needsSignatures = !/(^|\/)(gemini-[12]\b|gemma)/.test(model);
  return {
    model,
    contents: needsSignatures ? signContents(contents) : contents,
    config: {
      ...defined({
        systemInstruction,
        tools,
        thinkingConfig: canThink ? { includeThoughts: true } : undefined,
      }),
      // The SDK would repeat a request whose answer broke off, without a trace.
      // `SdkClient` decides about that.
      automaticContinuation: false,
      automaticFunctionCalling: { disable: true },
    },
  };
}
