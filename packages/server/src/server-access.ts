import { isIP } from "node:net";
import { type DevtoolError, invalid, quoted } from "./errors.ts";
import { assertTarget } from "./outbound/target.ts";
import type { HandlerOptions, ServerOptions, ServerSettings } from "./server-options.ts";

/**
 * Throws a `DevtoolError` for options that would open a server to callers that it must not serve: to other machines without
 * TLS and credentials, to any web page, or to anybody where an agent does not serve them; and for lists that could not be
 * meant so. It names the flags and fields of `devtool serve`; the options of `createServer` have the same names in camel case.
 */
export function assertSafeExposure(options: ServerOptions): void {
  assertPublicUrl(options);
  assertNobodyReachesTools(options);
  assertBindable(options);
  for (const origin of options.allowedOrigins ?? []) assertOrigin(origin);
  for (const target of options.pushTargets ?? []) assertTarget("push_targets", target);
}

/** The public URL without a slash at its end, so that paths can be added. */
export function publicUrlOf({ publicUrl }: Pick<HandlerOptions, "publicUrl">): string {
  return new URL(publicUrl).href.replace(/\/+$/, "");
}

/** Throws a `DevtoolError` for a public URL without a path: a host of its own is for a server that listens. */
export function assertMountable({ publicUrl }: Pick<HandlerOptions, "publicUrl">): void {
  if (new URL(publicUrl).pathname !== "/") return;
  throw publicUrlError(publicUrl, "has no path", "mount the handler below one, for instance /api, or use createServer");
}

/** Returns whether an address stands for all addresses of the machine; Node takes an empty one so, too. */
export function isWildcard(host: string): boolean {
  return host === "" || host === "0.0.0.0" || (isIP(host) === 6 && new URL(`http://[${host}]`).hostname === "[::]");
}

function assertPublicUrl({ publicUrl, tlsEndedByProxy = false, tls }: ServerSettings): void {
  if (publicUrl === undefined) {
    if (!tlsEndedByProxy) return;
    throw invalid("tls_ended_by_proxy", "", "needs the URL that the proxy serves", "set --public-url (public_url)");
  }
  const url = URL.parse(publicUrl);
  if (!url || !/^https?:$/.test(url.protocol)) throw publicUrlError(publicUrl, "is not a URL", "begin with https://");
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "") {
    throw publicUrlError(publicUrl, "may have a host, a port and a path only", "leave the rest out");
  }
  if (url.protocol === "https:") return;
  if (tls || tlsEndedByProxy) throw publicUrlError(publicUrl, "does not fit TLS", "begin with https://");
  if (!isLoopback(url.hostname))
    throw publicUrlError(publicUrl, "would send tokens in the clear", "begin with https://");
}

function publicUrlError(value: string, problem: string, remedy: string): DevtoolError {
  return invalid("public_url", value, problem, remedy);
}

function assertBindable(options: ServerSettings): void {
  const { host = "127.0.0.1", publicUrl } = options;
  if (isLoopback(host)) return;
  const missing = [
    ...(isEncrypted(options) ? [] : [TLS]),
    ...(hasCredentials(options) ? [] : [CREDENTIALS]),
    ...(isWildcard(host) && publicUrl === undefined ? [PUBLIC_URL] : []),
  ];
  if (missing.length === 0) return;
  throw invalid(
    "host",
    host || "(empty)",
    "is reachable from other machines",
    `choose 127.0.0.1, or set ${missing.join(", and ")}`,
  );
}

const TLS = "a certificate ([tls] in config.toml), or --tls-ended-by-proxy (tls_ended_by_proxy) where a proxy ends TLS";
const CREDENTIALS =
  "a token (--token-file, token_file), an issuer ([authentication.jwt]) or client certificates (tls.client_authorities_file)";
const PUBLIC_URL = "the URL that clients use (--public-url, public_url)";

function isEncrypted({ tls, tlsEndedByProxy = false }: ServerSettings): boolean {
  return tls !== undefined || tlsEndedByProxy;
}

function hasCredentials({ token, authentication, tls }: ServerSettings): boolean {
  return token !== undefined || authentication?.jwt !== undefined || tls?.clientAuthorities !== undefined;
}

/** An origin is compared as it is written, so it must be written as browsers do; `null` is that of any sandboxed page. */
function assertOrigin(text: string): void {
  const url = URL.parse(text);
  const isWeb = url !== null && /^https?:$/.test(url.protocol);
  // Those of applications and browser extensions, such as vscode-webview://id, are opaque to the URL standard.
  if (isWeb ? url.origin === text && !text.includes("*") : /^[a-z][a-z\d+.-]*:\/\/[^/?#\s*]+$/.test(text)) return;
  const example = isWeb && !text.includes("*") ? url.origin : "https://app.example";
  throw invalid("allowed_origins", text, "is not an origin", `write one as browsers do, for instance ${example}`);
}

/** Callers without credentials may be anybody on this machine: nobody else, and no agent that does not say it serves them. */
function assertNobodyReachesTools(options: ServerOptions): void {
  const { anonymous, host = "127.0.0.1", publicUrl, agents } = options;
  if (anonymous !== "admit") return;
  const places = [host, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
  const open = places.find((place) => !isLoopback(place));
  if (open !== undefined) {
    throw invalid("anonymous", "admit", `would let in other machines at ${open}`, "choose 127.0.0.1");
  }
  const closed = Object.keys(agents).find((name) => agents[name]?.servesAnonymous !== true);
  if (closed !== undefined) {
    const problem = `would give everybody agent ${quoted(closed)}`;
    throw invalid("anonymous", "admit", problem, "serve only agents that say servesAnonymous");
  }
}

function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}
