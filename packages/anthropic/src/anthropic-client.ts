import type Anthropic from "@anthropic-ai/sdk";
import {
  createFetchAnswer,
  ModelFault,
  withPlainErrors,
} from "@devtool/coding-agent/model";
import { loadOnce } from "@devtool/internal/load-once";
import { readAnthropicError } from "./anthropic-error.ts";
import type { AnthropicOptions } from "./anthropic-options.ts";

/**
 * Sends a request with the SDK. Resolves when the head of the answer has come.
 */
export type Send<Piece> = (
  sdk: Anthropic,
  signal: AbortSignal,
) => Promise<AsyncIterable<Piece>>;

/**
 * Sends a request and yields the pieces of the answer. Throws a `ModelFault`,
 * or the signal's reason.
 */
export type AnthropicClient = <Piece>(
  send: Send<Piece>,
  signal: AbortSignal,
) => AsyncIterable<Piece>;

/** Longer than any timeout of ours, which decide. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Creates a client on Anthropic's SDK. The SDK is loaded with the first
 * request: loading it takes longer than a server's start.
 */
export function createAnthropicClient(
  options: AnthropicOptions,
): AnthropicClient {
  const load = loadOnce(() => loadSdk(options));
  return async function* ask(send, signal) {
    try {
      yield* await send(await load(), signal);
    } catch (reason) {
      signal.throwIfAborted();
      throw ModelFault.from(reason);
    }
    // The SDK ends a stream without an error when the signal aborts.
    signal.throwIfAborted();
  };
}

async function loadSdk({
  apiKey,
  baseUrl,
}: AnthropicOptions): Promise<Anthropic> {
  const { default: Sdk } = await import("@anthropic-ai/sdk");
  return new Sdk({
    // All settings are given, so the SDK reads none from the environment. It
    // insists on a key, which is not sent then.
    apiKey: apiKey ?? "none",
    ...(apiKey === undefined && {
      defaultHeaders: { Authorization: null, "x-api-key": null },
    }),
    baseURL: baseUrl ?? "https://api.anthropic.com",
    webhookKey: null,
    fetch: withPlainErrors(
      createFetchAnswer({
        readError: readAnthropicError,
        lists: ["content"],
      }),
    ),
    // The model decides about retries and timeouts, and the log must not hold
    // what a model says.
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: "off",
  });
}
