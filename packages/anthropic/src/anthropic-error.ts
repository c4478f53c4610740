import type { ApiError } from "@devtool/coding-agent/model";
import {
  objectOrEmpty,
  readErrorBody,
  stringOrEmpty,
} from "@devtool/internal/json";

/** Reads an error in Anthropic's form. */
export function readAnthropicError(text: string): ApiError {
  return describeError(readErrorBody(text).error);
}

function describeError(error: unknown): ApiError {
  const { message, type } = objectOrEmpty(error);
  const text = stringOrEmpty(message) || stringOrEmpty(type);
  const isUsedUp =
    type === "billing_error" || /credit balance is too low/.test(text);
  return {
    message: text,
    status: STATUSES.get(stringOrEmpty(type)) ?? (type ? 500 : undefined),
    lastingRemedy: isUsedUp
      ? "the operator must check the plan and the payment"
      : undefined,
  };
}

const STATUSES: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["api_error", 500],
  ["timeout_error", 504],
  ["overloaded_error", 529],
]);
