import { abortable } from "@devtool/server/agent";
import type { GenerateContentParameters, GenerateContentResponse, GoogleGenAI } from "@google/genai";
import { fetchAnswer } from "./fetch-answer.ts";
import { GeminiFault } from "./gemini-fault.ts";
import type { GeminiOptions } from "./gemini-options.ts";
import { answerFault } from "./http-fault.ts";
import { unsentFault } from "./unsent-fault.ts";

/** Asks Gemini; the answer comes in pieces. Throws a `GeminiFault`, or the signal's reason. */
export type GeminiClient = (
  parameters: GenerateContentParameters,
  signal: AbortSignal,
) => AsyncIterable<GenerateContentResponse>;

/** Creates a client over Google's SDK, which is loaded with the first request: it takes longer than the start of a server may. */
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

/** Sends a request; resolves when the head of the answer is there. */
async function openAnswer(
  { models }: GoogleGenAI,
  parameters: GenerateContentParameters,
  signal: AbortSignal,
): Promise<AsyncIterable<GenerateContentResponse>> {
  const config = {
    ...parameters.config,
    abortSignal: signal,
    // The SDK would ask again for an answer that broke off, unseen; when that is done is decided here.
    automaticContinuation: false,
    automaticFunctionCalling: { disable: true },
  };
  try {
    // The SDK takes no notice of the signal while it gets its credentials over the network.
    return await abortable(models.generateContentStream({ ...parameters, config }), signal);
  } catch (reason) {
    // `fetchAnswer` throws faults alone: anything else came before the request was sent.
    throw reason instanceof GeminiFault ? reason : unsentFault(reason);
  }
}

async function loadSdk({ apiKey = "", vertex, baseUrl }: GeminiOptions): Promise<GoogleGenAI> {
  const sdk = await import("@google/genai");
  return new sdk.GoogleGenAI({
    // Named in full, so that the SDK takes nothing from the environment but, for a project, where its credentials are.
    ...(typeof vertex === "object" ? { ...vertex, vertexai: true } : { apiKey, vertexai: vertex === "express" }),
    httpOptions: { fetch: fetchAnswer, ...(baseUrl !== undefined && { baseUrl }) },
  });
}
