import {
  type ApiError,
  ModelFault,
  notJsonFault,
  readErrorBody,
  statusFault,
} from "@devtool/coding-agent/model";
import { objectOrEmpty, stringOrEmpty } from "@devtool/schema/json";

/**
 * Reads an error in OpenAI's form. Other servers have the message at the top,
 * or as the error itself.
 */
export function readOpenAiError(text: string): ApiError {
  const body = readErrorBody(text);
  return describeError(
    typeof body.error === "string"
      ? { message: body.error }
      : (body.error ?? body),
  );
}

function describeError(value: unknown): ApiError {
  const { message, code, type } = objectOrEmpty(value);
  const kinds = [code, type].map(stringOrEmpty);
  let lastingRemedy: string | undefined;
  if (kinds.includes("context_length_exceeded")) {
    lastingRemedy = "run /compress, or start a new task";
  }
  if (kinds.includes("insufficient_quota")) {
    lastingRemedy = "the operator must check the plan and the payment";
  }
  return {
    message: stringOrEmpty(message) || kinds.find((kind) => kind !== "") || "",
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

/**
 * Returns the fault for an error in place of a piece, or in a response that
 * failed.
 */
export function pieceFault(error: unknown): ModelFault {
  const { code, type, status } = objectOrEmpty(error);
  const kind = `${String(code ?? "")} ${stringOrEmpty(type)}`;
  const known = STATUSES.find(([pattern]) => pattern.test(kind))?.[1];
  const given = [status, code]
    .map(Number)
    .find((number) => number >= 400 && number < 600);
  return statusFault(known ?? given ?? 400, describeError(error));
}

/**
 * Returns the fault for what OpenAI's SDK throws: for an answer without 2xx, an
 * error in it, or a piece that is not JSON.
 */
export function answerFault(reason: unknown): ModelFault {
  if (reason instanceof SyntaxError) return notJsonFault(reason);
  // The SDK's error for an error in place of a piece has that error, and no
  // status.
  if (
    reason instanceof Error &&
    "error" in reason &&
    reason.error !== undefined &&
    reason.cause === undefined
  ) {
    return pieceFault(reason.error);
  }
  return ModelFault.from(reason);
}
