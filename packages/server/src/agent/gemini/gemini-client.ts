import type { GenerateContentParameters, GoogleGenAI } from "@google/genai";
import { Code } from "../../errors.ts";
import { GeminiFault } from "./gemini-fault.ts";
import type { GeminiOptions } from "./gemini-options.ts";
import { httpFault } from "./http-fault.ts";
import type { Piece } from "./piece.ts";
import { piecesIn } from "./piece-stream.ts";

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
  const capture: typeof fetch = (input, init) => (sent = checked(send(input, init)));
  const config = {
    ...parameters.config,
    abortSignal,
    httpOptions: { fetch: capture },
    // The SDK would take up broken answers by itself, unseen; what is asked again is ours to decide.
    automaticContinuation: false,
    automaticFunctionCalling: { disable: true },
  };
  const asking = models.generateContentStream({ ...parameters, config });
  await asking.catch((reason: unknown) => {
    throw sent ? reason : unsent(reason);
  });
  return sent ?? Promise.reject(unsent(undefined));
}

async function checked(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (!response.ok) throw await httpFault(response);
  return response;
}

/** The fault of a request that the SDK could not even make: most often there are no credentials. */
function unsent(cause: unknown): GeminiFault {
  const said = cause instanceof Error ? ` (${cause.message.split("\n", 1)[0]?.slice(0, 200)})` : "";
  const message = `the request to the model could not be made${said}: the operator must check the credentials`;
  return new GeminiFault(message, Code.FailedPrecondition, { cause });
}

async function loadSdk({ apiKey, vertex, baseUrl }: GeminiOptions): Promise<GoogleGenAI> {
  const sdk = await import("@google/genai");
  return new sdk.GoogleGenAI({
    // Named in full, so that the SDK takes nothing from the environment.
    ...(vertex ? { ...vertex, vertexai: true } : { apiKey: apiKey ?? "", vertexai: false }),
    httpOptions: { ...(baseUrl !== undefined && { baseUrl }) },
  });
}
