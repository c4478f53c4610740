import { createFetchAnswer, ModelFault } from "@devtool/coding-agent/model";
import { defined } from "@devtool/schema/json";
import { abortable } from "@devtool/server/agent";
import type { GenerateContentParameters, GenerateContentResponse, GoogleGenAI } from "@google/genai";
import type { GeminiOptions } from "./gemini-options.ts";
import { answerFault, readGoogleError } from "./google-error.ts";
import { unsentFault } from "./unsent-fault.ts";

/** Sends a request to Gemini and yields the pieces of the answer. Throws a `ModelFault`, or the signal's reason. */
export type GeminiClient = (
  parameters: GenerateContentParameters,
  signal: AbortSignal,
) => AsyncIterable<GenerateContentResponse>;

/** Creates a client on Google's SDK. The SDK is loaded with the first request: loading it takes longer than a server's start. */
export function createGeminiClient(options: GeminiOptions): GeminiClient {
  let loading: Promise<GoogleGenAI> | undefined;
  return async function* ask(parameters, signal) {
    try {
      loading ??= loadSdk(options);
      yield* await openAnswer(await loading, parameters, signal);
    } catch (reason) {
      signal.throwIfAborted();
      throw answerFault(reason);
    }
  };
}

async function loadSdk({ apiKey = "", vertex, baseUrl }: GeminiOptions): Promise<GoogleGenAI> {
  const { GoogleGenAI } = await import("@google/genai");
  return new GoogleGenAI({
    // All settings are given, so the SDK reads none from the environment; for a project it still finds the credentials there.
    ...(typeof vertex === "object" ? { ...vertex, vertexai: true } : { apiKey, vertexai: vertex === "express" }),
    httpOptions: defined({ fetch: createFetchAnswer(readGoogleError), baseUrl }),
  });
}

/** Sends a request. Resolves when the head of the answer has come. */
async function openAnswer(
  { models }: GoogleGenAI,
  parameters: GenerateContentParameters,
  signal: AbortSignal,
): Promise<AsyncIterable<GenerateContentResponse>> {
  const config = {
    ...parameters.config,
    abortSignal: signal,
    // The SDK would repeat a request whose answer broke off, without a trace. `withRetries` decides about that.
    automaticContinuation: false,
    automaticFunctionCalling: { disable: true },
  };
  try {
    // The SDK ignores the signal while it fetches credentials over the network.
    return await abortable(models.generateContentStream({ ...parameters, config }), signal);
  } catch (reason) {
    // The `fetch` throws faults only: any other error happened before the request was sent.
    throw reason instanceof ModelFault ? reason : unsentFault(reason);
  }
}
