import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import {
  findExtension,
  type ListedAgent,
  ListedAgentSchema,
} from "@devtool/schema";
import type { AgentCard } from "@devtool/schema/a2a-v1";
import { defined, listOrEmpty, stringOrEmpty } from "@devtool/schema/json";
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
 * How to reach the agent that a card describes. `token`, `fetch` and `grpc` are
 * those of `A2aTransportOptions`.
 */
export interface AgentTransportOptions
  extends Pick<A2aTransportOptions, "token" | "fetch" | "grpc"> {
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
  const { token = "" } = options;
  const extension = extensionOf(card);
  const candidates = card.supportedInterfaces.flatMap(
    ({ url, protocolVersion, protocolBinding, tenant }) => {
      const address = resolveAddress(url, options);
      if (address === undefined) return [];
      const candidate = {
        ...options,
        url: address,
        protocolVersion: protocolVersion || "1.0",
        protocolBinding: bindingOf(protocolBinding),
        tenant,
      };
      return isSupported(candidate) ? [candidate] : [];
    },
  );
  const best =
    candidates.find(
      ({ protocolVersion }) => !protocolVersion.startsWith("0."),
    ) ?? candidates[0];
  const streaming = card.capabilities?.streaming ?? true;
  if (best) {
    const options = { ...best, extension, streaming };
    return createTransportTo(options, listedAgentFrom(card, extension));
  }
  const offers = card.supportedInterfaces.map(
    ({ url, protocolVersion, protocolBinding }) =>
      `${protocolVersion || "1.0"} over ${protocolBinding} at ${url}`,
  );
  const offered = `agent ${JSON.stringify(card.name)} offers ${offers.join(", ") || "nothing"}`;
  const rule =
    token === ""
      ? ""
      : `a token is sent only to the host that the card came from, or over HTTPS: give the agent's own host as the URL, or no token; `;
  throw new ConnectError(
    `${rule}${offered}: ${CHOICES}`,
    Code.FailedPrecondition,
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
  const settings = listOrEmpty(follows).map(stringOrEmpty);
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
  const known = ["JSONRPC", "HTTP+JSON", "GRPC"];
  return known.find((each) => each.replace("+", "") === letters) ?? name;
}

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
