import { objectOrEmpty, parseJsonOrUndefined, stringOrEmpty } from "@devtool/schema/json";
import { Code } from "@devtool/server/agent";
import { GeminiFault } from "./gemini-fault.ts";

/** The maximum length of an error that is read, in UTF-16 code units. */
const MAX_ERROR_CHARS = 64 * 1024;

/** Returns the fault for a response whose status is not 2xx. Reads only the beginning of its body. */
export async function httpFault({ status, headers, body }: Response): Promise<GeminiFault> {
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
  return statusFault(status, text, readRetryAfterMs(headers));
}

/**
 * Returns the fault for what Google's SDK throws while it reads an answer.
 *
 * It throws for an error in place of a piece, and for a piece that is not JSON.
 */
export function answerFault(reason: unknown): GeminiFault {
  if (reason instanceof SyntaxError)
    return new GeminiFault("the model's answer is not JSON", Code.Unavailable, {
      remedy: "send the message again",
      retriable: true,
      cause: reason,
    });
  const { status } = objectOrEmpty(reason);
  if (!(reason instanceof Error) || typeof status !== "number") return GeminiFault.from(reason);
  return statusFault(status, reason.message.slice(reason.message.indexOf("{")));
}

/** The meaning of a status. */
interface Kind {
  readonly code: Code;
  /** Whether the same request may succeed later. */
  readonly retriable: boolean;
  readonly remedy: string;
}

const SERVER_ERROR: Kind = { code: Code.Unavailable, retriable: true, remedy: "send the message again later" };
const CLIENT_ERROR: Kind = { code: Code.FailedPrecondition, retriable: false, remedy: "change the request" };

const KINDS: ReadonlyMap<number, Kind> = new Map<number, Kind>([
  [400, { code: Code.FailedPrecondition, retriable: false, remedy: "change the request, or choose another model" }],
  [401, { code: Code.Unauthenticated, retriable: false, remedy: "the operator must check the credentials" }],
  [403, { code: Code.PermissionDenied, retriable: false, remedy: "the operator must check the credentials" }],
  [404, { code: Code.NotFound, retriable: false, remedy: "choose another model" }],
  [408, { code: Code.Unavailable, retriable: true, remedy: "send the message again" }],
  [413, { code: Code.ResourceExhausted, retriable: false, remedy: "send less, or run /compress" }],
  [429, { code: Code.ResourceExhausted, retriable: true, remedy: "wait, or choose another model" }],
]);

/**
 * Returns the fault for a status and a body with an error in Google's form.
 *
 * `retryAfterHeaderMs` is the wait that the headers ask for, in milliseconds; the body can ask for a longer one.
 */
export function statusFault(status: number, text: string, retryAfterHeaderMs = 0): GeminiFault {
  const { message, retryDelayMs, isDailyQuota } = readError(text);
  const kind = KINDS.get(status) ?? (status >= 500 ? SERVER_ERROR : CLIENT_ERROR);
  let { remedy } = kind;
  if (/token count|context (length|window)|too long/i.test(message)) remedy = "run /compress, or start a new task";
  if (isDailyQuota) remedy = "the daily quota is used up, choose another model";
  const words = message === "" ? "" : ` (${message})`;
  return new GeminiFault(`the model answered with status ${status}${words}`, kind.code, {
    remedy,
    retryAfterMs: Math.max(retryDelayMs, retryAfterHeaderMs),
    retriable: kind.retriable && !isDailyQuota,
  });
}

/** The contents of an error in Google's form. */
interface GoogleError {
  /** The first line of the message, cut to 300 characters. */
  readonly message: string;
  readonly retryDelayMs: number;
  /** Whether a daily quota is used up, so that waiting does not help. */
  readonly isDailyQuota: boolean;
}

function readError(text: string): GoogleError {
  const error = objectOrEmpty(objectOrEmpty(parseJsonOrUndefined(text)).error);
  const [line = ""] = stringOrEmpty(error.message).split("\n", 1);
  const details = JSON.stringify(error.details ?? []);
  const seconds = /"retryDelay":"(\d+(?:\.\d+)?)s"/.exec(details)?.[1];
  return {
    message: line.slice(0, 300),
    retryDelayMs: Number(seconds ?? 0) * 1000,
    isDailyQuota: /"quotaId":"[^"]*PerDay/.test(details),
  };
}

/** Reads `Retry-After`: a number of seconds, or a date, which is compared with the response's own date. */
function readRetryAfterMs(headers: Headers): number {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const ms = Date.parse(value) - Date.parse(headers.get("date") ?? "");
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
