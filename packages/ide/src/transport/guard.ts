import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** Why a request is refused: an HTTP status, and what the client is told. */
export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

/** Which requests a companion admits. */
export interface GuardOptions {
  /** What clients may give as `Host`: names of this machine, with the port. */
  readonly hosts: readonly string[];
  readonly token: string;
}

/** The header in which Claude Code sends the token. */
const CLAUDE_TOKEN = "x-claude-code-ide-authorization";

/**
 * Returns why a request is refused; undefined when it is admitted. Web pages
 * are never admitted: they send an `Origin`, or reach the port by a name that
 * is not this machine's.
 */
export function refusalOf(
  headers: IncomingHttpHeaders,
  { hosts, token }: GuardOptions,
): Refusal | undefined {
  if (!hosts.includes(headers.host?.toLowerCase() ?? "")) {
    return { status: 403, message: "Invalid Host header" };
  }
  if (headers.origin !== undefined) {
    return { status: 403, message: "Requests of web pages are refused" };
  }
  return isToken(tokenOf(headers), token)
    ? undefined
    : { status: 401, message: "Unauthorized" };
}

function tokenOf(headers: IncomingHttpHeaders): string {
  const own = headers[CLAUDE_TOKEN];
  if (typeof own === "string") return own;
  return /^Bearer ([^ ]+)$/i.exec(headers.authorization ?? "")?.[1] ?? "";
}

/** Compares in a time that tells nothing of the token, nor of its length. */
function isToken(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
