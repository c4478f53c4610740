import { isLoopback } from "@devtool/internal/loopback";
import { shownUrl } from "@devtool/internal/shown-url";
import { invalid, quoted } from "./errors.ts";
import { assertTarget } from "./outbound/outbound-policy.ts";
import type {
  HandlerOptions,
  ServerOptions,
  ServerSettings,
} from "./server-options.ts";
import { isWildcard } from "./transport/http/wildcard.ts";

/**
 * Throws a `DevtoolError` for options that would expose a server to callers
 * that it must not serve.
 *
 * Refuses an address that other machines can reach without TLS and credentials,
 * a CORS origin that stands for any web page, anonymous access to an agent that
 * does not set `servesAnonymous`, and entries of lists that could never match.
 * Messages name the flags and configuration fields of `devtool serve`; the
 * options of `createServer` have the same names in camel case.
 */
export function assertSafeExposure(options: ServerOptions): void {
  assertPublicUrl(options);
  assertAnonymousAccess(options);
  assertBindable(options);
  for (const origin of options.allowedOrigins ?? []) assertOrigin(origin);
  for (const target of options.pushTargets ?? []) {
    assertTarget("push_targets", target);
  }
  for (const target of options.agentRegistry?.targets ?? []) {
    assertTarget("agent_registry.targets", target);
  }
}

/**
 * Returns a public URL without trailing slashes, so that paths can be appended.
 */
export function normalizedPublicUrl(publicUrl: string): string {
  return new URL(publicUrl).href.replace(/\/+$/, "");
}

/**
 * Throws a `DevtoolError` for a public URL without a path, which a mounted
 * handler cannot have.
 */
export function assertMountable({ publicUrl }: HandlerOptions): void {
  if (new URL(publicUrl).pathname !== "/") return;
  throw invalid(
    "public_url",
    publicUrl,
    "has no path",
    "mount the handler below one, for instance /api, or use createServer",
  );
}

/**
 * Whether only programs on this machine reach the server and its tasks, as far
 * as its options say (`AgentServices.isLocal`).
 */
export function isLocal({
  host = "127.0.0.1",
  publicUrl,
  allowedHosts = [],
  openStore,
}: ServerOptions): boolean {
  return (
    isLoopback(host) &&
    publicUrl === undefined &&
    allowedHosts.length === 0 &&
    openStore === undefined
  );
}

function assertPublicUrl({
  publicUrl,
  tlsEndedByProxy = false,
  tls,
}: ServerSettings): void {
  if (publicUrl === undefined) {
    if (!tlsEndedByProxy) return;
    throw invalid(
      "tls_ended_by_proxy",
      "",
      "needs the URL that the proxy serves",
      "set --public-url (public_url)",
    );
  }
  const wrong = (problem: string, remedy = "begin with https://") =>
    invalid("public_url", shownUrl(publicUrl), problem, remedy);
  const url = URL.parse(publicUrl);
  if (!url || !/^https?:$/.test(url.protocol)) throw wrong("is not a URL");
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "") {
    const problem = "may have a host, a port and a path only";
    throw wrong(problem, "leave the rest out");
  }
  if (url.protocol === "https:") return;
  if (tls || tlsEndedByProxy) throw wrong("does not fit TLS");
  if (!isLoopback(url.hostname)) throw wrong("would send tokens in the clear");
}

/**
 * Requires TLS, credentials and a usable URL for an address that other machines
 * can reach.
 */
function assertBindable({
  host = "127.0.0.1",
  publicUrl,
  tls,
  tlsEndedByProxy,
  token,
  authentication,
}: ServerSettings): void {
  if (isLoopback(host)) return;
  const isEncrypted = tls !== undefined || tlsEndedByProxy === true;
  const hasCredentials =
    token !== undefined ||
    authentication?.jwt !== undefined ||
    tls?.clientAuthorities !== undefined;
  const missing = [
    ...(isEncrypted ? [] : [TLS]),
    ...(hasCredentials ? [] : [CREDENTIALS]),
    ...(isWildcard(host) && publicUrl === undefined ? [PUBLIC_URL] : []),
  ];
  if (missing.length === 0) return;
  throw invalid(
    "host",
    host || "(empty)",
    "is reachable from other machines",
    `choose 127.0.0.1, or set ${new Intl.ListFormat("en").format(missing)}`,
  );
}

const TLS =
  "TLS ([tls] in config.toml, or --tls-ended-by-proxy where a proxy terminates TLS)";
const CREDENTIALS =
  "credentials (--token-file, [authentication.jwt] or tls.client_authorities_file)";
const PUBLIC_URL = "the URL that clients use (--public-url)";

/**
 * Requires an origin as browsers send it, because origins are compared as text.
 * `null` is refused: it is the origin of every sandboxed page.
 */
function assertOrigin(text: string): void {
  const url = URL.parse(text);
  const isWeb = url !== null && /^https?:$/.test(url.protocol);
  // Origins of applications and browser extensions, such as
  // vscode-webview://id, are opaque to the URL standard.
  if (
    isWeb
      ? url.origin === text && !text.includes("*")
      : /^[a-z][a-z\d+.-]*:\/\/[^/?#\s*]+$/.test(text)
  ) {
    return;
  }
  const example =
    isWeb && !text.includes("*") ? url.origin : "https://app.example";
  throw invalid(
    "allowed_origins",
    shownUrl(text),
    "is not an origin",
    `write one as browsers do, for instance ${example}`,
  );
}

/**
 * Allows anonymous callers only from this machine, and only with agents that
 * set `servesAnonymous`.
 */
function assertAnonymousAccess({
  anonymous,
  host = "127.0.0.1",
  publicUrl,
  agents,
}: ServerOptions): void {
  if (anonymous !== "admit") return;
  const places = [
    host,
    ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname]),
  ];
  const open = places.find((place) => !isLoopback(place));
  if (open !== undefined) {
    throw invalid(
      "anonymous",
      "admit",
      `would admit other machines at ${open}`,
      "choose 127.0.0.1",
    );
  }
  const closed = Object.keys(agents).find(
    (name) => agents[name]?.servesAnonymous !== true,
  );
  if (closed !== undefined) {
    const problem = `would let everybody use agent ${quoted(closed)}`;
    throw invalid(
      "anonymous",
      "admit",
      problem,
      "serve only agents that set servesAnonymous",
    );
  }
}
