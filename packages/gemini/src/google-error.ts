import {
  type ApiError,
  ModelFault,
  notJsonFault,
  readErrorBody,
  statusFault,
} from "@devtool/coding-agent/model";
import { objectOrEmpty, stringOrEmpty } from "@devtool/schema/json";

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
    retryAfterMs: Number(seconds ?? 0) * 1000,
    lastingRemedy: isDailyQuota
      ? "the daily quota is used up, choose another model"
      : undefined,
  };
}

/**
 * Returns the fault for what Google's SDK throws while it reads an answer.
 *
 * It throws for an error in place of a piece, and for a piece that is not JSON.
 */
export function answerFault(reason: unknown): ModelFault {
  if (reason instanceof SyntaxError) return notJsonFault(reason);
  const { status } = objectOrEmpty(reason);
  if (!(reason instanceof Error) || typeof status !== "number") {
    return ModelFault.from(reason);
  }
  return statusFault(
    status,
    readGoogleError(reason.message.slice(reason.message.search(/[{[]/))),
  );
}
