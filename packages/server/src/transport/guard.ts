import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpRequest } from "./route.ts";
import { headerOf } from "./route.ts";

/** Whom a server lets in. */
export interface GuardOptions {
  /** What a client must send as bearer token. */
  readonly token: string;
  /** The values of `Host` that are right, each with its port. */
  readonly hosts: ReadonlySet<string>;
  /** The values of `Origin` that are let in; a request without one is no web page's. */
  readonly origins: ReadonlySet<string>;
}

/** Why a request is turned away. */
export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

/**
 * Checks a request before any route sees it (S5): `Host` is one of ours, so that no rebound name gets here; `Origin` is
 * absent or listed, so that no web page does; the bearer token is right, unless the route is public.
 */
export function refusalOf(
  request: HttpRequest,
  access: "public" | "token",
  { token, hosts, origins }: GuardOptions,
): Refusal | undefined {
  const host = hostOf(request).toLowerCase();
  if (!hosts.has(host)) {
    return { status: 403, message: `host ${JSON.stringify(host)} is not served: use one of ${[...hosts].join(", ")}` };
  }
  const origin = request.headers.origin;
  if (origin !== undefined && !(typeof origin === "string" && origins.has(origin))) {
    return { status: 403, message: `origin ${JSON.stringify(origin)} is not allowed: the operator can list it` };
  }
  if (access === "public" || hasToken(request, token)) return undefined;
  return { status: 401, message: "the bearer token is missing or wrong: send it in the Authorization header" };
}

/** `Host`, or its pseudo-header in HTTP/2; a request with both, or with two of one, has none that counts. */
function hostOf(request: HttpRequest): string {
  const authority = headerOf(request, ":authority");
  const host = headerOf(request, "host");
  if (authority !== "" && host !== "" && authority !== host) return "";
  return authority || host;
}

function hasToken(request: HttpRequest, token: string): boolean {
  const [scheme = "", credentials = "", ...rest] = headerOf(request, "authorization").split(" ");
  if (scheme.toLowerCase() !== "bearer" || rest.length > 0) return false;
  return timingSafeEqual(digest(credentials), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
