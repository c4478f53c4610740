import type { JsonObject } from "@bufbuild/protobuf";
import { keepStart } from "@devtool/internal/cut-text";
import { objectOrEmpty, parseJsonOrUndefined } from "@devtool/internal/json";
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
 * Parses the body of an error response: a JSON object, or a list whose first
 * item is one. Empty for anything else.
 */
export function readErrorBody(text: string): JsonObject {
  const body = parseJsonOrUndefined(text);
  return objectOrEmpty(Array.isArray(body) ? body[0] : body);
}

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
  // `Retry-After` is a number of seconds, or a date, which is compared with the
  // response's own date.
  const value = headers.get("retry-after")?.trim() ?? "";
  const untilDateMs = Date.parse(value) - Date.parse(headers.get("date") ?? "");
  const waitMs = Number.isFinite(untilDateMs) ? Math.max(0, untilDateMs) : 0;
  const isSeconds = /^\d+(\.\d+)?$/.test(value);
  return statusFault(
    status,
    readError(text),
    isSeconds ? Number(value) * 1000 : waitMs,
  );
}

/** The meaning of a status. */
interface Kind {
  readonly code: Code;
  /** Whether the same request may succeed later. */
  readonly retriable: boolean;
  readonly remedy: string;
}

const SERVER_ERROR: Kind = {
  code: Code.Unavailable,
  retriable: true,
  remedy: "send the message again later",
};
const CLIENT_ERROR: Kind = {
  code: Code.FailedPrecondition,
  retriable: false,
  remedy: "change the request",
};

const KINDS: ReadonlyMap<number, Kind> = new Map<number, Kind>([
  [
    400,
    {
      code: Code.FailedPrecondition,
      retriable: false,
      remedy: "change the request, or choose another model",
    },
  ],
  [
    401,
    {
      code: Code.Unauthenticated,
      retriable: false,
      remedy: "the operator must check the credentials",
    },
  ],
  [
    403,
    {
      code: Code.PermissionDenied,
      retriable: false,
      remedy: "the operator must check the credentials",
    },
  ],
  [
    404,
    { code: Code.NotFound, retriable: false, remedy: "choose another model" },
  ],
  [
    408,
    {
      code: Code.Unavailable,
      retriable: true,
      remedy: "send the message again",
    },
  ],
  [
    413,
    {
      code: Code.ResourceExhausted,
      retriable: false,
      remedy: "send less, or run /compress",
    },
  ],
  [
    429,
    {
      code: Code.ResourceExhausted,
      retriable: true,
      remedy: "wait, or choose another model",
    },
  ],
]);

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
  const kind =
    KINDS.get(status) ?? (status >= 500 ? SERVER_ERROR : CLIENT_ERROR);
  let { remedy } = kind;
  if (TOO_LONG.test(message)) remedy = "run /compress, or start a new task";
  if (lastingRemedy !== undefined) remedy = lastingRemedy;
  const words = message === "" ? "" : ` (${message})`;
  return new ModelFault(
    `the model answered with status ${status}${words}`,
    kind.code,
    {
      remedy,
      retryAfterMs: Math.max(retryAfterMs, retryAfterHeaderMs),
      retriable: kind.retriable && lastingRemedy === undefined,
    },
  );
}

/** The maximum number of characters of an API's message that are shown. */
const MAX_MESSAGE_CHARS = 300;

/** How APIs say that a request has too many tokens. */
const TOO_LONG = /token count|context.(length|window)|too long/i;
