import type { GenerateContentParameters, GoogleGenAI } from "@google/genai";
import { abortable } from "../../stream/abortable.ts";
import { GeminiFault } from "./gemini-fault.ts";
import type { GeminiOptions } from "./gemini-options.ts";
import { httpFault } from "./http-fault.ts";
import type { Piece } from "./piece.ts";
import { piecesIn } from "./piece-stream.ts";
import { unsentFault } from "./unsent-fault.ts";

/** Asks Gemini; the answer comes in pieces. Throws a `GeminiFault`, or the signal's reason. */
export type GeminiClient = (parameters: GenerateContentParameters, signal: AbortSignal) => AsyncIterable<Piece>;

/** The SDK is loaded so many milliseconds after a client was made, or with its first request if that comes before. */
const LOAD_AFTER_MS = 300;

/**
 * Makes a client. The SDK is not loaded at once: it costs more than the start of a server may.
 *
 * The SDK makes the request: address, credentials, the forms of both APIs. The answer is read by ourselves, because the
 * SDK takes 30 µs for each piece, takes time that grows with the square of a piece's size, and takes bytes that are no
 * UTF-8.
 */
export function createGeminiClient(options: GeminiOptions): GeminiClient {
  let loading: Promise<GoogleGenAI> | undefined;
  const load = (): Promise<GoogleGenAI> => (loading ??= loadSdk(options));
  setTimeout(() => load().catch(() => undefined), LOAD_AFTER_MS).unref();
  return async function* ask(parameters, signal) {
    try {
      const sdk = await load();
      const { body } = await responseTo(sdk, { parameters, send: options.fetch ?? fetch }, signal);
      if (body) yield* piecesIn(body);
    } catch (reason) {
      signal.throwIfAborted();
      throw GeminiFault.from(reason);
    }
  };
}

/** Sends a request and gives the answer as it came. The SDK's stream over it is never begun, so it reads nothing. */
async function responseTo(
  { models }: GoogleGenAI,
  { parameters, send }: { readonly parameters: GenerateContentParameters; readonly send: typeof fetch },
  abortSignal: AbortSignal,
): Promise<Response> {
  let sent: Promise<Response> | undefined;
  const capture: typeof fetch = async (input, init) => {
    abortSignal.throwIfAborted();
    sent = checked(send(input, init));
    return sent;
  };
  const config = {
    ...parameters.config,
    abortSignal,
    httpOptions: { fetch: capture },
    // The SDK would take up broken answers by itself, unseen; what is asked again is ours to decide.
    automaticContinuation: false,
    automaticFunctionCalling: { disable: true },
  };
  const asking = models.generateContentStream({ ...parameters, config });
  // The SDK gets its credentials over the network too, and heeds no signal while it does.
  await abortable(asking, abortSignal).catch((reason: unknown) => {
    throw sent ? reason : unsentFault(reason);
  });
  return sent ?? Promise.reject(unsentFault(undefined));
}

async function checked(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (!response.ok) throw await httpFault(response);
  return response;
}

async function loadSdk({ apiKey = "", vertex, baseUrl }: GeminiOptions): Promise<GoogleGenAI> {
  const sdk = await import("@google/genai");
  return new sdk.GoogleGenAI({
    // Named in full, so that the SDK takes nothing from the environment but, for a project, where its credentials are.
    ...(typeof vertex === "object" ? { ...vertex, vertexai: true } : { apiKey, vertexai: vertex === "express" }),
    httpOptions: { ...(baseUrl !== undefined && { baseUrl }) },
  });
}
