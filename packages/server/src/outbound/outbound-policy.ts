import { networkInterfaces } from "node:os";
import { abortable } from "@devtool/internal/abortable";
import { shownUrl } from "@devtool/internal/shown-url";
import { Code, DevtoolError, invalid } from "../errors.ts";

/**
 * The hosts that this machine may connect to on behalf of a model or a client.
 */
export interface OutboundPolicy {
  /**
   * Targets that the operator permits at any address, as `host:port` or
   * `host:*`, with IPv6 addresses in brackets. All other targets must have
   * public addresses only.
   */
  readonly allowedHosts: readonly string[];

  /**
   * Returns the setting with which the operator permits a target, for error
   * messages.
   */
  readonly allowing: (target: string) => string;

  /**
   * Returns the ports of this server. They are refused at all addresses of this
   * machine, even when permitted.
   */
  readonly ownPorts: () => readonly number[];

  /**
   * Returns all addresses of a host. Called once for each connection. Default:
   * the resolver of the system.
   */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined;
}

const MAX_URL_LENGTH = 8192;

/**
 * Names of this machine (RFC 6761, section 6.3, and those of Linux's hosts
 * file), also while nothing resolves them.
 */
const OWN_NAME =
  /(^|\.)(localhost|ip6-localhost|ip6-loopback|localhost\.localdomain)\.?$/i;

/**
 * Parses the URL of an outbound request. Throws `Code.InvalidArgument` for one
 * that no policy permits: not http or https, with a user name, a password or a
 * control character, or longer than 8192 characters.
 */
export function parseTarget(text: string): URL {
  if (text.length > MAX_URL_LENGTH) {
    throw invalid(
      "url",
      "",
      `has ${text.length} characters: limit is ${MAX_URL_LENGTH}`,
    );
  }
  // A URL would be read without them, and could be shown in another way.
  if (/\p{Cc}/u.test(text)) {
    throw invalid(
      "url",
      shownUrl(text),
      "has a control character",
      "leave it out",
    );
  }
  const url = URL.parse(text);
  if (!url) {
    throw invalid(
      "url",
      shownUrl(text),
      "is not an absolute URL",
      "begin with https://",
    );
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw invalid("url", shownUrl(text), "must begin with https:// or http://");
  }
  if (url.username !== "" || url.password !== "") {
    throw invalid("url", url.host, "holds a user name", "leave it out");
  }
  return url;
}

/**
 * Resolves the host of a URL and returns its addresses, all of which the policy
 * permits. Rejects with `Code.PermissionDenied` when it does not permit one of
 * them, and with `Code.Unavailable` when the host has none.
 *
 * Connect to the returned addresses only. A second lookup may return other
 * addresses (DNS rebinding).
 */
export async function checkedAddresses(
  url: URL,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const { resolve = addressesOf } = policy;
  const isAllowed = isAllowedHost(url, policy);
  const remedy = `the operator allows it with ${policy.allowing(hostPort(url))}`;
  if (!isAllowed && OWN_NAME.test(host)) {
    throw denied(host, "is this machine", remedy);
  }
  const resolving = resolve(host).catch((reason: unknown) => {
    throw unreachable(host, "its name was not found", reason);
  });
  const addresses = await abortable(resolving, signal);
  if (addresses.length === 0) throw unreachable(host, "it has no address");
  // A server that reaches nothing does without what reads addresses.
  const { canonicalAddress, isPublicAddress } = await import(
    "./public-address.ts"
  );
  const own = new Set(ownAddresses().map(canonicalAddress));
  const isThisMachine = (address: string): boolean =>
    own.has(canonicalAddress(address));
  const isOwnPort = policy.ownPorts().includes(Number(portOf(url)));
  for (const address of addresses) {
    const isPublic = isPublicAddress(address);
    if (isOwnPort && (isThisMachine(address) || !isPublic)) {
      throw denied(host, "is this server");
    }
    if (!isAllowed && !isPublic) throw denied(host, "is not public", remedy);
    if (!isAllowed && isThisMachine(address)) {
      throw denied(host, "is this machine", remedy);
    }
  }
  return addresses;
}

/** Asks the resolver of the system for the addresses of a host. */
async function addressesOf(host: string): Promise<readonly string[]> {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/**
 * Returns the host and port of a URL in the form in which the operator permits
 * them.
 */
export function hostPort(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}

/** Whether the operator permits the host and port of a URL at any address. */
export function isAllowedHost(
  url: URL,
  { allowedHosts }: OutboundPolicy,
): boolean {
  return allowedHosts.some((entry) => {
    const [, host = "", port = ""] = /^(.*):(\d+|\*)$/.exec(entry) ?? [];
    const listed = URL.parse(`http://${host}`);
    return (
      listed !== null &&
      listed.hostname === url.hostname &&
      (port === "*" || port === portOf(url))
    );
  });
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === "https:" ? "443" : "80");
}

/** Returns the addresses of this machine. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address }) => address),
  );
}

function denied(host: string, problem: string, remedy = ""): DevtoolError {
  return new DevtoolError(
    `host ${JSON.stringify(host)} may not be reached: an address of it ${problem}`,
    Code.PermissionDenied,
    { remedy },
  );
}

function unreachable(
  host: string,
  problem: string,
  cause?: unknown,
): DevtoolError {
  return new DevtoolError(
    `host ${JSON.stringify(host)} cannot be reached: ${problem}`,
    Code.Unavailable,
    { cause },
  );
}

/**
 * Throws `Code.InvalidArgument` for an entry of a list of targets that is not
 * `host:port` or `host:*`. Without the check, such an entry would silently
 * match nothing.
 */
export function assertTarget(field: string, text: string): void {
  if (/^(\[[\da-f:.]+\]|[^/:*?#@[\]\s]+):(\d{1,5}|\*)$/i.test(text)) return;
  const example = URL.parse(text)?.host || "127.0.0.1:3000";
  throw invalid(
    field,
    shownUrl(text),
    "is not a host with a port",
    `write host:port or host:*, for instance ${example}`,
  );
}
