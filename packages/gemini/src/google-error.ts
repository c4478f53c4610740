import type { ApiError } from "@devtool/coding-agent/model";
import {
  objectOrEmpty,
  readErrorBody,
  stringOrEmpty,
} from "@devtool/internal/json";

/**
 * Reads an error in Google's form. A daily quota that is used up does not come
 * back by waiting.
 */
export function readGoogleError(text: string): ApiError {
  const error = objectOrEmpty(readErrorBody(text).error);
  const details = JSON.stringify(error.details ?? []);
  const seconds = /"retryDelay":"(\d+(?:\.\d+)?)s"/.exec(details)?.[1];
  const isDailyQuota = /"quotaId":"[^"]*PerDay/.test(details);
  return {
    message: stringOrEmpty(error.message),
    status: typeof error.code === "number" ? error.code : undefined,
    retryAfterMs: Number(seconds ?? 0) * 1000,
    lastingRemedy: isDailyQuota
      ? "the daily quota is used up, choose another model"
      : undefined,
  };
}
