import { quoted } from "../../errors.ts";
import { admit } from "../auth/admitted.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { HttpRequest, Route } from "./route.ts";
import { headerOf } from "./route.ts";

/** Which requests a server accepts. */
export interface GuardOptions {
  readonly authenticator: Authenticator;
  /**
   * The accepted values of `Host` in lower case: `name:port`, or `name`, which
   * is accepted with any port.
   */
  readonly hosts: ReadonlySet<string>;
  /** The accepted values of `Origin`, which only web pages send. */
  readonly origins: ReadonlySet<string>;
}

/** Why the guard refuses a request. */
export interface Refusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
  /**
   * The value of `WWW-Authenticate` (RFC 6750, section 3).
   *
   * Undefined where other credentials would not help.
   */
  readonly challenge?: string;
}

/**
 * Returns why a request is not meant for this server; undefined when it is
 * (S5).
 *
 * The first check of every request. `Host` must name this server, which stops
 * DNS rebinding; `Origin` must be absent or listed, which stops the pages of
 * other web sites. The message names the flags and fields that would allow the
 * request.
 */
export function misdirectionOf(
  request: HttpRequest,
  { hosts, origins }: GuardOptions,
): Refusal | undefined {
  const host = hostOf(request).toLowerCase();
  if (!hosts.has(host) && !hosts.has(host.replace(/:\d*$/, ""))) {
    const known = [...hosts].join(", ");
    const how =
      "the operator allows it with --allow-host (allowed_hosts), or --public-url (public_url) behind a proxy";
    return {
      status: 403,
      message: `host ${quoted(host)} is not served: call ${known}, or ${how}`,
    };
  }
  const { origin } = request.headers;
  if (
    origin === undefined ||
    (typeof origin === "string" && origins.has(origin))
  ) {
    return undefined;
  }
  const how = "the operator allows it with --allow-origin (allowed_origins)";
  return {
    status: 403,
    message: `origin ${quoted(origin)} is not allowed: ${how}`,
  };
}

/**
 * Authenticates a request, unless its route is public, and records the caller
 * for the route.
 *
 * Returns why the request is refused; undefined when it is accepted.
 */
export async function requestRefusal(
  request: HttpRequest,
  access: Route["access"],
  { authenticator }: GuardOptions,
): Promise<Refusal | undefined> {
  if (access === "public") return undefined;
  const verdict = await authenticator.authenticate(request);
  switch (verdict.case) {
    case "caller":
      return void admit(request, verdict.value);
    case "none": {
      const message =
        "the bearer token is missing or wrong: send it in the Authorization header";
      return { status: 401, message, challenge: challengeOf(authenticator) };
    }
    case "wrong":
      return {
        status: 401,
        message: verdict.message,
        challenge: challengeOf(authenticator, 'error="invalid_token"'),
      };
    case "unavailable":
      return { status: 503, message: verdict.message };
    default:
      return verdict satisfies never;
  }
}

/**
 * Returns a challenge with its parameters, and where clients find out who
 * issues tokens (RFC 9728, section 5.1).
 */
function challengeOf(
  { resourceMetadata }: Pick<Authenticator, "resourceMetadata">,
  ...parameters: readonly string[]
): string {
  const all =
    resourceMetadata === undefined
      ? parameters
      : [...parameters, `resource_metadata="${resourceMetadata}"`];
  return `Bearer ${all.join(", ")}`.trimEnd();
}

/**
 * Returns `Host`, or `:authority` in HTTP/2; empty when a request has both with
 * different values, or `Host` twice.
 */
export function hostOf(request: HttpRequest): string {
  const authority = headerOf(request, ":authority");
  const host = headerOf(request, "host");
  if (authority !== "" && host !== "" && authority !== host) return "";
  // `headers` holds the first of two `Host` headers only.
  if (
    request.rawHeaders.filter(
      (name, at) => at % 2 === 0 && /^host$/i.test(name),
    ).length > 1
  ) {
    return "";
  }
  return authority || host;
}
