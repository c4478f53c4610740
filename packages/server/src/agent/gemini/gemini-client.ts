import type { IncomingMessage } from "node:http";
import type { GenerateContentParameters, GoogleGenAI } from "@google/genai";
import { abortable } from "../../stream/abortable.ts";
import { GeminiFault } from "./gemini-fault.ts";
import type { GeminiOptions } from "./gemini-options.ts";
import { httpFault } from "./http-fault.ts";
import type { Piece } from "./piece.ts";
import { piecesIn } from "./piece-stream.ts";
import { type ApiRequest, post } from "./post.ts";
import { unsentFault } from "./unsent-fault.ts";

/** Asks Gemini; the answer comes in pieces. Throws a `GeminiFault`, or the signal's reason. */
export type GeminiClient = (parameters: GenerateContentParameters, signal: AbortSignal) => AsyncIterable<Piece>;

/** The SDK is loaded so many milliseconds after a client was made, or with its first request if that comes before. */
const LOAD_AFTER_MS = 300;

/**
 * Makes a client. The SDK is not loaded at once: it costs more than the start of a server may.
 *
 * The SDK makes the request: address, credentials, the forms of both APIs. It is sent, and the answer read, by ourselves,
 * because the SDK takes 30 µs for each piece, takes time that grows with the square of a piece's size, and takes bytes
 * that are no UTF-8.
 */
export function createGeminiClient(options: GeminiOptions): GeminiClient {
  let loading: Promise<GoogleGenAI> | undefined;
  const load = (): Promise<GoogleGenAI> => (loading ??= loadSdk(options));
  setTimeout(() => load().catch(() => undefined), LOAD_AFTER_MS).unref();
  return async function* ask(parameters, signal) {
    try {
      const sdk = await load();
      const request = await requestOf(sdk, parameters, signal);
      yield* piecesIn(await answerTo(request, signal));
    } catch (reason) {
      signal.throwIfAborted();
      throw GeminiFault.from(reason);
    }
  };
}

/** Has the SDK make a request, and sends nothing. Throws a `GeminiFault` when it cannot, or the signal's reason. */
async function requestOf(
  { models }: GoogleGenAI,
  parameters: GenerateContentParameters,
  signal: AbortSignal,
): Promise<ApiRequest> {
  let made: ApiRequest | undefined;
  const capture: typeof fetch = async (input, init) => {
    made = apiRequest(input, init);
    return new Response();
  };
  const config = {
    ...parameters.config,
    httpOptions: { fetch: capture },
    // The SDK would take up broken answers by itself, unseen; what is asked again is ours to decide.
    automaticContinuation: false,
    automaticFunctionCalling: { disable: true },
  };
  // The SDK gets its credentials over the network, and heeds no signal while it does.
  await abortable(models.generateContentStream({ ...parameters, config }), signal).catch((reason: unknown) => {
    signal.throwIfAborted();
    throw unsentFault(reason);
  });
  if (!made) throw unsentFault(undefined);
  return made;
}

function apiRequest(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): ApiRequest {
  return { url: String(input), headers: Object.fromEntries(new Headers(init?.headers)), body: String(init?.body) };
}

/** Sends a request and gives the answer, if it is a good one. */
async function answerTo(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const answer = await post(request, signal);
  const { statusCode = 0 } = answer;
  if (statusCode < 200 || statusCode > 299) throw await httpFault(answer);
  return answer;
}

async function loadSdk({ apiKey = "", vertex, baseUrl }: GeminiOptions): Promise<GoogleGenAI> {
  const sdk = await import("@google/genai");
  return new sdk.GoogleGenAI({
    // Named in full, so that the SDK takes nothing from the environment but, for a project, where its credentials are.
    ...(typeof vertex === "object" ? { ...vertex, vertexai: true } : { apiKey, vertexai: vertex === "express" }),
    httpOptions: { ...(baseUrl !== undefined && { baseUrl }) },
  });
}
