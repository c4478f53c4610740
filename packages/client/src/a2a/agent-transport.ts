import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import type { AgentCard, AgentInterface } from "@devtool/schema/a2a-v1";
import { type A2aTransportOptions, CHOICES, createA2aTransport, isSpoken } from "./transport.ts";

/** How to reach the agent that a card is of. */
export interface AgentTransportOptions extends Pick<A2aTransportOptions, "token" | "fetch" | "grpc"> {
  /** Where the card came from. */
  readonly url: string;
}

/**
 * Makes a transport to the agent that a card is of, over the best of its interfaces that are spoken here: 1.0 before 0.3,
 * and among those the one that the agent names first. With a token, interfaces are left out that would show it to others:
 * plain HTTP to another host than the card's, or where the card came over HTTPS. Throws a `ConnectError` with
 * `Code.FailedPrecondition` that lists what the agent has when nothing is left.
 */
export function createAgentTransport(card: AgentCard, options: AgentTransportOptions): Transport {
  const offered = card.supportedInterfaces.filter(({ protocolVersion, protocolBinding }) =>
    isSpoken({ ...options, protocolVersion, protocolBinding }),
  );
  const safe = offered.filter((item) => isSafe(addressOf(item, options), options));
  const [best] = safe.toSorted((a, b) => Number(isOlder(a)) - Number(isOlder(b)));
  if (!best) throw nothingFits(card, options);
  const { protocolVersion, protocolBinding, tenant } = best;
  return createA2aTransport({
    ...options,
    url: addressOf(best, options).href,
    protocolVersion,
    protocolBinding,
    tenant,
  });
}

function isOlder({ protocolVersion }: AgentInterface): boolean {
  return protocolVersion.startsWith("0.");
}

/** Where an interface is; one of gRPC may name its host alone. */
function addressOf({ url }: AgentInterface, { url: base }: AgentTransportOptions): URL {
  const isHost = /^[\w.-]+:\d+$|^\[[\da-f:]+\]:\d+$/i.test(url);
  return new URL(isHost ? `//${url}` : url, base);
}

function isSafe(address: URL, { url, token = "" }: AgentTransportOptions): boolean {
  const base = new URL(url);
  if (token === "" || address.protocol === "https:") return true;
  return base.protocol === address.protocol && base.hostname === address.hostname;
}

function nothingFits({ name, supportedInterfaces }: AgentCard, { token = "" }: AgentTransportOptions): ConnectError {
  const offered = supportedInterfaces.map(
    ({ url, protocolVersion, protocolBinding }) => `${protocolVersion} over ${protocolBinding} at ${url}`,
  );
  const shown = offered.length === 0 ? "nothing" : offered.join(", ");
  const rule = token === "" ? "" : "; a token goes to the card's own host, or over HTTPS";
  const message = `agent ${JSON.stringify(name)} offers ${shown}: ${CHOICES}${rule}`;
  return new ConnectError(message, Code.FailedPrecondition);
}
