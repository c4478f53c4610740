import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { Code, DevtoolError, invalid } from "../errors.ts";
import { abortable } from "../stream/abortable.ts";
import { canonicalAddress, isPublicAddress } from "./public-address.ts";

/** Which hosts this machine may reach on behalf of a model or a client. */
export interface OutboundPolicy {
  /** What the operator allows at any address, as `host:port` or `host:*`, IPv6 in brackets. Everything else must be public. */
  readonly allowedHosts: readonly string[];
  /** Says how the operator allows a target, for errors. */
  readonly allowing: (target: string) => string;
  /** The ports that this server listens on: never reached at an address of this machine, allowed or not. */
  readonly ownPorts: () => readonly number[];
  /** Finds all addresses of a host; by default as the system does. Asked once for each connection. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

const MAX_URL_LENGTH = 8192;

/** Reads a URL that something is fetched from. Throws `Code.InvalidArgument` for one that no policy would let through. */
export function parseTarget(text: string): URL {
  if (text.length > MAX_URL_LENGTH)
    throw invalid("url", "", `has ${text.length} characters: limit is ${MAX_URL_LENGTH}`);
  const url = URL.parse(text);
  if (!url) throw invalid("url", text, "is not an absolute URL", "begin with https://");
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw invalid("url", text, "must begin with https:// or http://");
  if (url.username !== "" || url.password !== "") throw invalid("url", url.host, "holds a user name", "leave it out");
  return url;
}

/**
 * Finds the addresses to connect to, all of them checked: each is public, or the operator allowed the host; none is this
 * server. Throws `Code.PermissionDenied` otherwise. Connect to these and ask no resolver again: it may change its mind.
 */
export async function checkedAddresses(
  url: URL,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = await abortable(resolved(host, policy), signal);
  if (addresses.length === 0) throw unreachable(host, "it has no address");
  const isAllowed = isAllowedHost(url, policy);
  const remedy = `the operator allows it with ${policy.allowing(hostPort(url))}`;
  for (const address of addresses) {
    if (isOwn(address, url, policy)) throw denied(host, "is this server");
    if (!isAllowed && !isPublicAddress(address)) throw denied(host, "is not public", remedy);
    if (!isAllowed && isThisMachine(address)) throw denied(host, "is this machine", remedy);
  }
  return addresses;
}

async function resolved(host: string, { resolve = systemAddresses }: OutboundPolicy): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch (reason) {
    throw unreachable(host, "its name was not found", reason);
  }
}

async function systemAddresses(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function portOf(url: URL): string {
  if (url.port !== "") return url.port;
  return url.protocol === "https:" ? "443" : "80";
}

/** The host and port of a URL, as the operator would allow them. */
export function hostPort(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}

/** Tells whether the operator allows the host and port of a URL, whatever its address. */
export function isAllowedHost(url: URL, { allowedHosts }: OutboundPolicy): boolean {
  return allowedHosts.some((entry) => names(entry, url));
}

/** Tells whether an entry of the operator's list names the host and port of a URL. A port that is `*` is any. */
function names(entry: string, url: URL): boolean {
  const [, host = "", port = ""] = /^(.*):(\d+|\*)$/.exec(entry) ?? [];
  const listed = URL.parse(`http://${host}`);
  return listed !== null && listed.hostname === url.hostname && (port === "*" || port === portOf(url));
}

function isOwn(address: string, url: URL, { ownPorts }: OutboundPolicy): boolean {
  return ownPorts().includes(Number(portOf(url))) && (isThisMachine(address) || !isPublicAddress(address));
}

function isThisMachine(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((one) => canonicalAddress(one.address) === canonicalAddress(address));
}

function denied(host: string, problem: string, remedy = ""): DevtoolError {
  return new DevtoolError(
    `host ${JSON.stringify(host)} may not be reached: an address of it ${problem}`,
    Code.PermissionDenied,
    { remedy },
  );
}

function unreachable(host: string, problem: string, cause?: unknown): DevtoolError {
  return new DevtoolError(`host ${JSON.stringify(host)} cannot be reached: ${problem}`, Code.Unavailable, { cause });
}
