import {
  createFetchAnswer,
  ModelFault,
  SdkClient,
} from "@devtool/coding-agent/model";
import { abortable } from "@devtool/internal/abortable";
import { defined } from "@devtool/internal/json";
import type { GoogleGenAI } from "@google/genai";
import type { GeminiOptions } from "./gemini-options.ts";
import { readGoogleError } from "./google-error.ts";
import { unsentFault } from "./unsent-fault.ts";

/** Creates a client on Google's SDK. */
export function createGeminiClient(
  options: GeminiOptions,
): SdkClient<GoogleGenAI> {
  return new SdkClient(() => loadSdk(options), options);
}

async function loadSdk({
  apiKey = "",
  vertex,
  baseUrl,
}: GeminiOptions): Promise<GoogleGenAI> {
  const { GoogleGenAI } = await import("@google/genai");
  return new GoogleGenAI({
    // All settings are given, so the SDK reads none from the environment; for a
    // project it still finds the credentials there.
    ...(typeof vertex === "object"
      ? { ...vertex, vertexai: true }
      : { apiKey, vertexai: vertex === "express" }),
    httpOptions: defined({
      fetch: createFetchAnswer({
        readError: readGoogleError,
        lists: ["candidates"],
      }),
      baseUrl,
    }),
  });
}

/** Waits for the head of an answer to a request that the SDK sends. */
export async function openAnswer<Piece>(
  answer: Promise<AsyncIterable<Piece>>,
  signal: AbortSignal,
): Promise<AsyncIterable<Piece>> {
  try {
    // The SDK ignores the signal while it fetches credentials over the network.
    return await abortable(answer, signal);
  } catch (reason) {
    // The `fetch` throws faults only: any other error happened before the
    // request was sent.
    throw reason instanceof ModelFault ? reason : unsentFault(reason);
  }
}
