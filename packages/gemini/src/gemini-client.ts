import { createFetchAnswer, ModelFault } from "@devtool/coding-agent/model";
import { abortable } from "@devtool/internal/abortable";
import { defined } from "@devtool/internal/json";
import { loadOnce } from "@devtool/internal/load-once";
import type { GoogleGenAI } from "@google/genai";
import type { GeminiOptions } from "./gemini-options.ts";
import { readGoogleError } from "./google-error.ts";
import { unsentFault } from "./unsent-fault.ts";

/**
 * Sends a request with the SDK. Resolves when the head of the answer has come.
 */
export type Send<Piece> = (
  models: GoogleGenAI["models"],
) => Promise<AsyncIterable<Piece>>;

/**
 * Sends a request and yields the pieces of the answer. Throws a `ModelFault`,
 * or the signal's reason.
 */
export type GeminiClient = <Piece>(
  send: Send<Piece>,
  signal: AbortSignal,
) => AsyncIterable<Piece>;

/**
 * Creates a client on Google's SDK. The SDK is loaded with the first request:
 * loading it takes longer than a server's start.
 */
export function createGeminiClient(options: GeminiOptions): GeminiClient {
  const load = loadOnce(() => loadSdk(options));
  return async function* ask(send, signal) {
    try {
      yield* await openAnswer(await load(), send, signal);
    } catch (reason) {
      signal.throwIfAborted();
      throw ModelFault.from(reason);
    }
  };
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

/** Sends a request. Resolves when the head of the answer has come. */
async function openAnswer<Piece>(
  { models }: GoogleGenAI,
  send: Send<Piece>,
  signal: AbortSignal,
): Promise<AsyncIterable<Piece>> {
  try {
    // The SDK ignores the signal while it fetches credentials over the network.
    return await abortable(send(models), signal);
  } catch (reason) {
    // The `fetch` throws faults only: any other error happened before the
    // request was sent.
    throw reason instanceof ModelFault ? reason : unsentFault(reason);
  }
}
