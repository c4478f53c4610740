import { Code } from "@devtool/server/agent";
import { GeminiFault } from "./gemini-fault.ts";
import { member, parseOrUndefined, textOf } from "./json.ts";

/** The maximum number of characters of an error that are read. */
const MAX_ERROR_CHARS = 64 * 1024;

/** Creates the fault of an HTTP answer whose status is not 2xx. */
export async function httpFault({ status, headers, body }: Response): Promise<GeminiFault> {
  const text = body ? await beginningOf(body).catch(() => "") : "";
  return statusFault(status, text, retryAfterMs(headers));
}

/** Creates the fault of what Google's SDK throws while it reads an answer: an error in place of a piece, and what is not JSON. */
export function answerFault(reason: unknown): GeminiFault {
  if (reason instanceof SyntaxError) {
    const remedy = "send the message again";
    return new GeminiFault("the model's answer is not JSON", Code.Unavailable, {
      remedy,
      retriable: true,
      cause: reason,
    });
  }
  const status = member(reason, "status");
  if (!(reason instanceof Error) || typeof status !== "number") return GeminiFault.from(reason);
  return statusFault(status, reason.message.slice(reason.message.indexOf("{")));
}

/** Creates the fault of a status and an error in Google's form. */
export function statusFault(status: number, text: string, retryAfterHeaderMs = 0): GeminiFault {
  const body = errorBody(text);
  const kind = KINDS.get(status) ?? (status >= 500 ? SERVER_ERROR : CLIENT_ERROR);
  const retriable = kind.retriable && !body.daily;
  return new GeminiFault(`the model answered with status ${status}${said(body.message)}`, kind.code, {
    remedy: remedyOf(kind, body),
    retryAfterMs: Math.max(body.retryDelayMs, retryAfterHeaderMs),
    ...(retriable && { retriable }),
  });
}

async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= MAX_ERROR_CHARS) break;
  }
  return text;
}

interface Kind {
  readonly code: Code;
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

function remedyOf({ remedy }: Kind, { message, daily }: ErrorBody): string {
  if (daily) return "the quota of the day is used up, choose another model";
  return /token count|context (length|window)|too long/i.test(message) ? "run /compress, or start a new task" : remedy;
}

function said(message: string): string {
  return message === "" ? "" : ` (${message})`;
}

/** What Google's form of an error says. */
interface ErrorBody {
  /** Its first line, cut to 300 characters. */
  readonly message: string;
  readonly retryDelayMs: number;
  /** Whether a quota of the day is used up: waiting does not help. */
  readonly daily: boolean;
}

function errorBody(text: string): ErrorBody {
  const error = member(parseOrUndefined(text), "error");
  const message = textOf(member(error, "message"));
  const details = JSON.stringify(member(error, "details") ?? []);
  const seconds = /"retryDelay":"(\d+(?:\.\d+)?)s"/.exec(details)?.[1];
  return {
    message: message.split("\n", 1)[0]?.slice(0, 300) ?? "",
    retryDelayMs: Number(seconds ?? 0) * 1000,
    daily: /"quotaId":"[^"]*PerDay/.test(details),
  };
}

/** A number of seconds, or a date: that one counts from the date of the answer, so no clock is needed. */
function retryAfterMs(headers: Headers): number {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const ms = Date.parse(value) - Date.parse(headers.get("date") ?? "");
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
