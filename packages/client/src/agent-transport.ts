import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { defined, listOrEmpty } from "@devtool/internal/json";
import {
  findExtension,
  type ListedAgent,
  ListedAgentSchema,
} from "@devtool/schema";
import type { AgentCard, AgentInterface } from "@devtool/schema/a2a-v1";
import { extensionOf } from "./a2a/agent-card.ts";
import { agentUrl } from "./a2a/agent-url.ts";
import type { ExtensionUse } from "./a2a/endpoint.ts";
import {
  type A2aTransportOptions,
  CHOICES,
  createTransportTo,
  isSupported,
} from "./a2a-transport.ts";

/**
 * How to reach the agent that a card describes. `token`, `fetch`, `grpc`
 * and `onLeftOut` are those of `A2aTransportOptions`.
 */
export interface AgentTransportOptions
  extends Pick<A2aTransportOptions, "token" | "fetch" | "grpc" | "onLeftOut"> {
  /**
   * The URL that the card was fetched from.
   */
  readonly url: string;
}

/**
 * Creates a transport to the agent that a card describes, over its best
 * supported interface: 1.0 before 0.3, otherwise the one that the card lists
 * first. `client.agents.listAgents` answers with that agent. The extension is
 * activated if the card lists it. An agent whose card says that it does not
 * stream is sent messages, and asked for their tasks.
 *
 * With a token, interfaces that would expose it are skipped: plain HTTP to
 * another host than the card's, or to any host if the card came over HTTPS.
 *
 * ```ts
 * const card = await fetchAgentCard({ url }, signal);
 * const client = createDevtoolClient(createAgentTransport(card, { url, token }));
 * ```
 *
 * Throws `Code.InvalidArgument` for an invalid URL, and
 * `Code.FailedPrecondition` if no interface is left, with a list of what
 * the agent offers, or if the card has an incompatible version of the
 * extension.
 */
export function createAgentTransport(
  card: AgentCard,
  options: AgentTransportOptions,
): Transport {
  const { token = "", onLeftOut } = options;
  const extension = extensionOf(card);
  const offers = card.supportedInterfaces.map((offer) => ({
    ...offer,
    protocolVersion: offer.protocolVersion || "1.0",
    protocolBinding: bindingOf(offer.protocolBinding),
    address: resolveAddress(offer.url, options) ?? "",
  }));
  // An agent of which no interface has a URL is at that of its card.
  const hasUrl = offers.some(({ url }) => url !== "");
  const usable = offers.filter(
    ({ url, address, ...offer }) =>
      address !== "" &&
      (url !== "" || !hasUrl) &&
      isSupported({ ...offer, ...options }),
  );
  const best =
    usable.find(({ protocolVersion }) => !protocolVersion.startsWith("0.")) ??
    usable[0];
  if (best) {
    for (const offer of offers) {
      const isFault = offer.address === "" || !isKnown(offer);
      if (isFault && !usable.includes(offer)) {
        onLeftOut?.(`an interface that cannot be used: ${describe(offer)}`);
      }
    }
    const streaming = card.capabilities?.streaming ?? true;
    return createTransportTo(
      { ...options, ...best, url: best.address, extension, streaming },
      listedAgentFrom(card, extension),
    );
  }
  const offered = `agent ${JSON.stringify(card.name)} offers ${offers.map(describe).join(", ") || "nothing"}`;
  const rule =
    token === ""
      ? ""
      : `a token is sent only to the host that the card came from, or over HTTPS: give the agent's own host as the URL, or no token; `;
  throw new ConnectError(
    `${rule}${offered}: ${CHOICES}`,
    Code.FailedPrecondition,
  );
}

type Offer = Pick<
  AgentInterface,
  "url" | "protocolVersion" | "protocolBinding"
>;

function describe({ url, protocolVersion, protocolBinding }: Offer): string {
  return `${protocolVersion} over ${protocolBinding} at ${url}`;
}

/** Whether A2A has such an interface, whether or not this client does. */
function isKnown({ url, protocolVersion, protocolBinding }: Offer): boolean {
  return (
    url !== "" &&
    /^(0\.3|1)(\.|$)/.test(protocolVersion) &&
    BINDINGS.includes(protocolBinding)
  );
}

/**
 * Returns what a card says about its agent. One without the extension follows
 * no settings.
 */
function listedAgentFrom(
  card: AgentCard,
  extension: ExtensionUse,
): ListedAgent {
  const { name, description, defaultInputModes, capabilities } = card;
  const known = capabilities?.extensions ?? [];
  const uri = findExtension(known.map((one) => one.uri));
  const { follows } = known.find((one) => one.uri === uri)?.params ?? {};
  const settings = listOrEmpty(follows).filter(
    (name) => typeof name === "string",
  );
  const isSaid = extension === "none" || Array.isArray(follows);
  return create(
    ListedAgentSchema,
    defined({
      displayName: name,
      description,
      inputModes: defaultInputModes,
      follows: isSaid ? { settings } : undefined,
    }),
  );
}

/**
 * Returns the name of a binding as the protocol spells it. Agents write it in
 * lower case, or with other punctuation.
 */
function bindingOf(name: string): string {
  const letters = name.toUpperCase().replace(/[^A-Z]/g, "");
  return BINDINGS.find((each) => each.replace("+", "") === letters) ?? name;
}

/** The bindings that A2A defines. */
const BINDINGS: readonly string[] = ["JSONRPC", "HTTP+JSON", "GRPC"];

/**
 * Resolves the URL of an interface; for gRPC it may be a host and port alone.
 * Returns undefined if the URL is invalid or would expose the token.
 *
 * An agent that lists the address of all its interfaces, `0.0.0.0`, is at the
 * host of its card. All names of the loopback interface are one host.
 */
function resolveAddress(
  url: string,
  { url: base, token = "" }: AgentTransportOptions,
): string | undefined {
  const isHost = /^[\w.-]+:\d+$|^\[[\da-f:]+\]:\d+$/i.test(url);
  const { href, protocol, hostname } = agentUrl(base);
  const address = URL.parse(isHost ? `//${url}` : url, href);
  if (!address || !/^https?:$/.test(address.protocol)) return undefined;
  if (/^(0\.0\.0\.0|\[::\])$/.test(address.hostname)) {
    address.hostname = hostname;
  }
  const isSameHost =
    hostname === address.hostname ||
    (isLoopback(hostname) && isLoopback(address.hostname));
  const isOwnHost = protocol === address.protocol && isSameHost;
  return token === "" || address.protocol === "https:" || isOwnHost
    ? address.href
    : undefined;
}

function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname);
}
