import { createFetchAnswer } from "@devtool/coding-agent/model";
import type OpenAI from "openai";
import { readOpenAiError } from "./openai-error.ts";
import type { OpenAiOptions } from "./openai-options.ts";

/** Longer than any timeout of ours, which decide. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** Loads OpenAI's SDK. */
export async function loadOpenAi({
  apiKey,
  baseUrl,
  organization,
  project,
}: OpenAiOptions): Promise<OpenAI> {
  const { default: Sdk } = await import("openai");
  return new Sdk({
    // All settings are given, so the SDK reads none from the environment. It
    // insists on a key, which is not sent then.
    apiKey: apiKey ?? "none",
    ...(apiKey === undefined && { defaultHeaders: { Authorization: null } }),
    baseURL: baseUrl ?? "https://api.openai.com/v1",
    adminAPIKey: null,
    webhookSecret: null,
    organization: organization ?? null,
    project: project ?? null,
    fetch: createFetchAnswer({
      readError: readOpenAiError,
      lists: ["choices", "output"],
      hidesFaults: true,
    }),
    // The model decides about retries and timeouts, and the log must not hold
    // what a model says.
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: "off",
  });
}
