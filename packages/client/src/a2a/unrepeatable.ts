import { Code, ConnectError } from "@connectrpc/connect";
import { causesOf, RETRY_PUSHBACK } from "../resume.ts";

/**
 * Returns whether an error is the agent's own answer, and not that of a
 * connection.
 */
export function isAnswered(reason: unknown): boolean {
  const { code } = ConnectError.from(reason);
  return (
    code !== Code.Unavailable &&
    code !== Code.Canceled &&
    code !== Code.DeadlineExceeded
  );
}

/**
 * Marks an error of a call so that nobody repeats the call, unless it cannot
 * have reached the agent or was turned away before it began.
 */
export function withoutRetry(reason: unknown): ConnectError {
  const error = ConnectError.from(reason);
  const codes = causesOf(error).map(({ code }) => code);
  const isUnsent =
    error.code === Code.Unavailable && codes.some((code) => UNSENT.has(code));
  if (isUnsent || TURNED_AWAY.test(error.rawMessage)) return error;
  const isLost = error.code === Code.Unavailable && error.cause !== undefined;
  const marked = isLost
    ? new ConnectError(
        `${error.rawMessage} before the agent answered: it may have taken the message, so it is not sent again`,
        error.code,
        undefined,
        undefined,
        error.cause,
      )
    : error;
  marked.metadata.set(RETRY_PUSHBACK, "-1");
  return marked;
}

/** The codes of connections that were never made. */
const UNSENT: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Too many requests, and a service that is down for a while. */
const TURNED_AWAY = /answered with HTTP (429|503)\b/;
