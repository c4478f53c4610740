import type { GenerateContentParameters, GenerateContentResponse, GoogleGenAI } from "@google/genai";
import { checkedFetch } from "./checked-fetch.ts";
import { GeminiFault } from "./gemini-fault.ts";
import type { GeminiOptions } from "./gemini-options.ts";
import { statusFault } from "./http-fault.ts";

/** Asks Gemini; the answer comes in pieces. Throws a `GeminiFault`, or the signal's reason. */
export type GeminiClient = (
  parameters: GenerateContentParameters,
  signal: AbortSignal,
) => AsyncIterable<GenerateContentResponse>;

/** Makes a client. The SDK is loaded with the first request: it costs more than the start of a server may. */
export function createGeminiClient(options: GeminiOptions): GeminiClient {
  let loading: Promise<GoogleGenAI> | undefined;
  return async function* ask({ config, ...parameters }, signal) {
    loading ??= loadSdk(options);
    try {
      const { models } = await loading;
      yield* await models.generateContentStream({
        ...parameters,
        config: {
          ...config,
          abortSignal: signal,
          // The SDK would take up broken answers by itself, unseen; what is asked again is ours to decide.
          automaticContinuation: false,
          automaticFunctionCalling: { disable: true },
        },
      });
    } catch (reason) {
      signal.throwIfAborted();
      throw faultOf(reason);
    }
  };
}

async function loadSdk({ apiKey, vertex, baseUrl, fetch: send = fetch }: GeminiOptions): Promise<GoogleGenAI> {
  const sdk = await import("@google/genai");
  return new sdk.GoogleGenAI({
    // Named in full, so that the SDK takes nothing from the environment.
    ...(vertex ? { ...vertex, vertexai: true } : { apiKey: apiKey ?? "", vertexai: false }),
    httpOptions: { ...(baseUrl !== undefined && { baseUrl }), fetch: checkedFetch(send) },
  });
}

/** An error that came inside a stream is an `ApiError`, with Google's form of it behind other words. */
function faultOf(reason: unknown): GeminiFault {
  if (!(reason instanceof Error) || reason.name !== "ApiError") return GeminiFault.from(reason);
  const status = "status" in reason && typeof reason.status === "number" ? reason.status : 500;
  return statusFault(status, reason.message.slice(Math.max(0, reason.message.indexOf("{"))));
}
