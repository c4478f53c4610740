import {
  generateRemotely,
  type Model,
  type ModelEvent,
  type ModelRequest,
  modelHistory,
} from "@devtool/coding-agent/model";
import { defined } from "@devtool/internal/json";
import type { GenerateContentParameters } from "@google/genai";
import { GeminiAnswerReader } from "./answer-reader.ts";
import { createGeminiClient } from "./gemini-client.ts";
import { DEFAULT_MODEL, type GeminiOptions } from "./gemini-options.ts";
import { encodeContents, encodeTools, signContents } from "./translate.ts";

/** The options of `createGeminiModel`. */
export interface GeminiModelOptions extends GeminiOptions {
  /**
   * Returns a number from 0 to below 1, for the random part of the waits
   * between attempts. Default: `Math.random`.
   */
  readonly random?: () => number;
  /** Waits between attempts, in milliseconds. Default: the platform's timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

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
export function createGeminiModel(options: GeminiModelOptions): Model {
  const {
    model: name = DEFAULT_MODEL,
    maxInputTokens = 1_048_576,
    apiKey: secret = "",
  } = options;
  const { retry, timeouts, random = Math.random, sleep } = options;
  const ask = createGeminiClient(options);

  return {
    name,
    maxInputTokens,
    inputModes: INPUT_MODES,
    async *generate(request, signal): AsyncIterable<ModelEvent> {
      const parameters = await encodeRequest(request, name);
      const remote = {
        ask: (attempt: AbortSignal) => {
          const config = { ...parameters.config, abortSignal: attempt };
          return ask(
            (models) => models.generateContentStream({ ...parameters, config }),
            attempt,
          );
        },
        createReader: () => new GeminiAnswerReader(),
        secret,
        history: request.history,
      };
      yield* generateRemotely(
        remote,
        { retry, timeouts, random, sleep },
        signal,
      );
    },
    async listModels(signal) {
      const config = { abortSignal: signal, pageSize: 1000 };
      const listed = await Array.fromAsync(
        ask((models) => models.list({ config }), signal),
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
      // `generateRemotely` decides about that.
      automaticContinuation: false,
      automaticFunctionCalling: { disable: true },
    },
  };
}
