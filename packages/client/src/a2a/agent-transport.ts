import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import type { AgentCard } from "@devtool/schema/a2a-v1";
import { hasToken } from "../bearer-token.ts";
import { extensionOf } from "./agent-card.ts";
import { type A2aTransportOptions, CHOICES, createA2aTransport, isSpoken } from "./transport.ts";

/** How to reach the agent that a card is of. */
export interface AgentTransportOptions extends Pick<A2aTransportOptions, "token" | "fetch" | "grpc"> {
  /** Where the card came from. */
  readonly url: string;
}

/**
 * Makes a transport to the agent that a card is of, over the best of its interfaces that are spoken here: 1.0 before 0.3,
 * and among those the one that the agent names first. With a token, interfaces are left out that would show it to others:
 * plain HTTP to another host than the card's, or where the card came over HTTPS. The extension is asked for where the card
 * lists it. Throws a `ConnectError` with
 * `Code.FailedPrecondition` that lists what the agent has when nothing is left.
 */
export function createAgentTransport(card: AgentCard, options: AgentTransportOptions): Transport {
  const offered = card.supportedInterfaces.flatMap(({ url, protocolVersion, protocolBinding, tenant }) => {
    const address = addressOf(url, options);
    const item = { ...options, url: address ?? "", protocolVersion, protocolBinding, tenant };
    return address !== undefined && isSpoken(item) ? [item] : [];
  });
  const extension = extensionOf(card);
  const [best] = offered.toSorted((a, b) => Number(isOlder(a)) - Number(isOlder(b)));
  if (!best) throw nothingFits(card, options);
  return createA2aTransport({ ...best, extension });
}

function isOlder({ protocolVersion }: { readonly protocolVersion: string }): boolean {
  return protocolVersion.startsWith("0.");
}

/** Where an interface is; one of gRPC may name its host alone. Undefined where a call, or its token, must not go. */
function addressOf(url: string, { url: base, token = "" }: AgentTransportOptions): string | undefined {
  const isHost = /^[\w.-]+:\d+$|^\[[\da-f:]+\]:\d+$/i.test(url);
  const address = URL.parse(isHost ? `//${url}` : url, base);
  if (!address || !/^https?:$/.test(address.protocol)) return undefined;
  const { protocol, hostname } = new URL(base);
  const isOwn = protocol === address.protocol && hostname === address.hostname;
  return !hasToken(token) || address.protocol === "https:" || isOwn ? address.href : undefined;
}

function nothingFits({ name, supportedInterfaces }: AgentCard, { token = "" }: AgentTransportOptions): ConnectError {
  const offered = supportedInterfaces.map(
    ({ url, protocolVersion, protocolBinding }) => `${protocolVersion} over ${protocolBinding} at ${url}`,
  );
  const shown = offered.length === 0 ? "nothing" : offered.join(", ");
  const rule = !hasToken(token) ? "" : "; a token goes to the card's own host, or over HTTPS";
  const message = `agent ${JSON.stringify(name)} offers ${shown}: ${CHOICES}${rule}`;
  return new ConnectError(message, Code.FailedPrecondition);
}
