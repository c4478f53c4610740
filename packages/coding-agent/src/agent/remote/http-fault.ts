import { keepStart } from "@devtool/internal/cut-text";
import { retryAfterMs } from "@devtool/internal/retry-after";
import { Code } from "@devtool/server/agent";
import { ModelFault } from "./model-fault.ts";

/** The maximum length of an error that is read, in UTF-16 code units. */
const MAX_ERROR_CHARS = 64 * 1024;

/** The error that the body of an API's response describes. */
export interface ApiError {
  /** The message. Only the beginning of its first line is shown. */
  readonly message: string;
  /**
   * The HTTP status that the error stands for where it came with status 200.
   * Undefined: the body names none.
   */
  readonly status?: number | undefined;
  /** The wait that the body asks for, in milliseconds. Default: 0. */
  readonly retryAfterMs?: number;
  /**
   * Set if the same request will not succeed for long, for instance with a
   * used-up quota: what to do instead.
   */
  readonly lastingRemedy?: string | undefined;
}

/**
 * Reads the body of an error response, which may be of any form and cut off.
 */
export type ReadApiError = (text: string) => ApiError;

/**
 * Returns the fault for a response whose status is not 2xx. Reads only the
 * beginning of its body.
 */
export async function httpFault(
  { status, headers, body }: Response,
  readError: ReadApiError,
): Promise<ModelFault> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length >= MAX_ERROR_CHARS) break;
    }
  } catch {
    // The body broke off: the status says enough.
    text = "";
  }
  const [retryAfter = "", date = ""] = ["retry-after", "date"].map(
    (name) => headers.get(name) ?? "",
  );
  return statusFault(status, readError(text), retryAfterMs(retryAfter, date));
}

/** The meaning of a status. */
type Meaning = readonly [code: Code, remedy: string];

const CHECK_CREDENTIALS = "the operator must check the credentials";

const SERVER_ERROR: Meaning = [
  Code.Unavailable,
  "send the message again later",
];
const CLIENT_ERROR: Meaning = [Code.FailedPrecondition, "change the request"];

const MEANINGS: Readonly<Record<number, Meaning>> = {
  400: [Code.FailedPrecondition, "change the request, or choose another model"],
  401: [Code.Unauthenticated, CHECK_CREDENTIALS],
  403: [Code.PermissionDenied, CHECK_CREDENTIALS],
  404: [Code.NotFound, "choose another model"],
  408: [Code.Unavailable, "send the message again"],
  413: [Code.ResourceExhausted, "send less, or run /compress"],
  429: [Code.ResourceExhausted, "wait, or choose another model"],
};

/** Whether the same request may succeed later. */
function isRetriable(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/**
 * Returns the fault for a status and the error that came with it.
 *
 * `retryAfterHeaderMs` is the wait that the headers ask for, in milliseconds;
 * the error can ask for a longer one.
 */
export function statusFault(
  status: number,
  error: ApiError,
  retryAfterHeaderMs = 0,
): ModelFault {
  const { retryAfterMs = 0, lastingRemedy } = error;
  const [line = ""] = error.message.split("\n", 1);
  const message = keepStart(line, MAX_MESSAGE_CHARS);
  const [code, remedy] =
    MEANINGS[status] ?? (status >= 500 ? SERVER_ERROR : CLIENT_ERROR);
  const usual = TOO_LONG.test(message)
    ? "run /compress, or start a new task"
    : remedy;
  const words = message === "" ? "" : ` (${message})`;
  const problem = `the model answered with status ${status}${words}`;
  return new ModelFault(problem, code, {
    remedy: lastingRemedy ?? usual,
    retryAfterMs: Math.max(retryAfterMs, retryAfterHeaderMs),
    retriable: isRetriable(status) && lastingRemedy === undefined,
  });
}

/** The maximum number of characters of an API's message that are shown. */
const MAX_MESSAGE_CHARS = 300;

/** How APIs say that a request has too many tokens. */
const TOO_LONG = /token count|context.(length|window)|too long/i;
