import type Anthropic from "@anthropic-ai/sdk";
import { createFetchAnswer } from "@devtool/coding-agent/model";
import { readAnthropicError } from "./anthropic-error.ts";
import type { AnthropicOptions } from "./anthropic-options.ts";

/** Longer than any timeout of ours, which decide. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** Loads Anthropic's SDK. */
export async function loadAnthropic({
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
    fetch: createFetchAnswer({
      readError: readAnthropicError,
      lists: ["content"],
      hidesFaults: true,
    }),
    // The model decides about retries and timeouts, and the log must not hold
    // what a model says.
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: "off",
  });
}
