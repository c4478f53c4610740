import {
  type ApiError,
  type ModelFault,
  statusFault,
} from "@devtool/coding-agent/model";
import {
  objectOrEmpty,
  readErrorBody,
  stringOrEmpty,
} from "@devtool/internal/json";

/**
 * Reads an error in OpenAI's form. Other servers have the message at the top,
 * or as the error itself.
 */
export function readOpenAiError(text: string): ApiError {
  const body = readErrorBody(text);
  return describeError(body.error ?? body);
}

function describeError(value: unknown): ApiError {
  const { message, code, type, status } = objectOrEmpty(
    typeof value === "string" ? { message: value } : value,
  );
  const kinds = [code, type].map(stringOrEmpty);
  let lastingRemedy: string | undefined;
  if (kinds.includes("context_length_exceeded")) {
    lastingRemedy = "run /compress, or start a new task";
  }
  if (kinds.includes("insufficient_quota")) {
    lastingRemedy = "the operator must check the plan and the payment";
  }
  const known = STATUSES.find(([pattern]) => pattern.test(kinds.join(" ")));
  const given = [status, code]
    .map(Number)
    .find((number) => number >= 400 && number < 600);
  return {
    message: stringOrEmpty(message) || kinds.find((kind) => kind !== "") || "",
    status: known?.[1] ?? given,
    lastingRemedy,
  };
}

/**
 * The HTTP statuses of errors that arrive in a stream, in place of a piece of
 * the answer, by their code or type.
 */
const STATUSES: readonly (readonly [pattern: RegExp, status: number])[] = [
  [/rate_limit|insufficient_quota|too_many_requests/, 429],
  [/overloaded|server_error|internal|unavailable|timeout/, 500],
  [/authentication|invalid_api_key/, 401],
  [/permission/, 403],
];

/** Returns the fault for the error of a response that failed. */
export function pieceFault(error: unknown): ModelFault {
  const apiError = describeError(error);
  return statusFault(apiError.status ?? 400, apiError);
}
