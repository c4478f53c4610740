import { quoted } from "../../errors.ts";
import { admit } from "../auth/admitted.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { HttpRequest, Route } from "./route.ts";
import { headerOf } from "./route.ts";

/** Whom a server lets in. */
export interface GuardOptions {
  /** Tells who sends a request. */
  readonly authenticator: Authenticator;
  /** The values of `Host` that are served, in lower case: each with its port, or a name alone, which is served with any port. */
  readonly hosts: ReadonlySet<string>;
  /** The values of `Origin` that are let in; only web pages send one. */
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
 * Checks whether a request is meant for this server, before anything else (S5): `Host` is one of ours, so that no rebound
 * name gets here; `Origin` is absent or listed, so that no other web page does. The message names the flags and fields
 * with which the operator would let it in.
 */
export function misdirectionOf(request: HttpRequest, { hosts, origins }: GuardOptions): Refusal | undefined {
  const host = hostOf(request).toLowerCase();
  if (!hosts.has(host) && !hosts.has(nameOf(host))) {
    const known = [...hosts].join(", ");
    const how = "the operator allows it with --allow-host (allowed_hosts), or --public-url (public_url) behind a proxy";
    return { status: 403, message: `host ${quoted(host)} is not served: call ${known}, or ${how}` };
  }
  const { origin } = request.headers;
  if (origin === undefined || (typeof origin === "string" && origins.has(origin))) return undefined;
  const how = "the operator allows it with --allow-origin (allowed_origins)";
  return { status: 403, message: `origin ${quoted(origin)} is not allowed: ${how}` };
}

/** Checks the credentials of a request, unless its route is public, and notes whose they are. */
export async function refusalOf(
  request: HttpRequest,
  access: Route["access"],
  { authenticator }: GuardOptions,
): Promise<Refusal | undefined> {
  if (access === "public") return undefined;
  const verdict = await authenticator.authenticate(request);
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

/** `Host`, or its pseudo-header in HTTP/2; a request with both, or with two of one, has none that counts. */
function hostOf(request: HttpRequest): string {
  const authority = headerOf(request, ":authority");
  const host = headerOf(request, "host");
  if (authority !== "" && host !== "" && authority !== host) return "";
  // Of two headers `headers` holds the first alone.
  if (request.rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name)).length > 1) return "";
  return authority || host;
}

/** The name in a value of `Host`, without its port. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, "");
}
