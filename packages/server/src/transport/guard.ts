import { admit } from "./auth/admitted.ts";
import type { Authenticator } from "./auth/authenticator.ts";
import type { HttpRequest, Route } from "./route.ts";
import { headerOf } from "./route.ts";

/** Whom a server lets in. */
export interface GuardOptions {
  /** Tells who sends a request. */
  readonly authenticator: Authenticator;
  /** The values of `Host` that are right, each with its port. */
  readonly hosts: ReadonlySet<string>;
  /** The values of `Origin` that are let in; a request without one is no web page's. */
  readonly origins: ReadonlySet<string>;
}

/** Why a request is turned away. */
export interface Refusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
  /** What `WWW-Authenticate` says (RFC 6750, section 3); undefined when other credentials would not help. */
  readonly challenge?: string;
}

/**
 * Checks a request before any route sees it (S5): `Host` is one of ours, so that no rebound name gets here; `Origin` is
 * absent or listed, so that no web page does; the credentials are right, unless the route is public. Notes whose they are.
 */
export async function refusalOf(
  request: HttpRequest,
  access: Route["access"],
  options: GuardOptions,
): Promise<Refusal | undefined> {
  const misled = misledBy(request, options);
  if (misled || access === "public") return misled;
  const verdict = await options.authenticator.authenticate(request);
  switch (verdict.case) {
    case "caller":
      return void admit(request, verdict.value);
    case "none":
      return { status: 401, message: MISSING, challenge: "Bearer" };
    case "wrong":
      return { status: 401, message: verdict.message, challenge: 'Bearer error="invalid_token"' };
    case "unavailable":
      return { status: 503, message: verdict.message };
    default:
      return verdict satisfies never;
  }
}

const MISSING = "the bearer token is missing or wrong: send it in the Authorization header";

/** Says why a request may not be meant for us at all. */
function misledBy(request: HttpRequest, { hosts, origins }: GuardOptions): Refusal | undefined {
  const host = hostOf(request).toLowerCase();
  if (!hosts.has(host)) {
    return { status: 403, message: `host ${JSON.stringify(host)} is not served: use one of ${[...hosts].join(", ")}` };
  }
  const origin = request.headers.origin;
  if (origin === undefined || (typeof origin === "string" && origins.has(origin))) return undefined;
  return { status: 403, message: `origin ${JSON.stringify(origin)} is not allowed: the operator can list it` };
}

/** `Host`, or its pseudo-header in HTTP/2; a request with both, or with two of one, has none that counts. */
function hostOf(request: HttpRequest): string {
  const authority = headerOf(request, ":authority");
  const host = headerOf(request, "host");
  if (authority !== "" && host !== "" && authority !== host) return "";
  return authority || host;
}
