import type { JsonObject } from "@bufbuild/protobuf";
import { claimsIn, type Interface, interfacesIn } from "./agent-card.ts";
import type { Binding, BindingName, Endpoint, ProtocolVersion, ServerTrust } from "./binding/binding.ts";
import { grpcBinding } from "./binding/grpc-v1.ts";
import { jsonRpcBinding } from "./binding/json-rpc.ts";
import { restBinding } from "./binding/rest-v1.ts";
import { restBindingV03 } from "./binding/rest-v03.ts";
import { fieldsOf } from "./json-fields.ts";

/** The server to test, and how to speak to it. */
export interface ServerTarget {
  /** Its address: what its agent card is found under. */
  readonly url: string;
  /** Its bearer token; none when left out. */
  readonly token?: string;
  /** The version of A2A. Default: that of the first interface of the card that the kit speaks. */
  readonly protocolVersion?: ProtocolVersion;
  /** How its certificate is trusted. Default: by the authorities that Node knows. */
  readonly trust?: ServerTrust;
  /** The binding. Default: that of the first interface of the card, in that version, that the kit speaks. */
  readonly binding?: BindingName;
}

/** A server that was found: what it says of itself, and how it is spoken to. */
export interface Subject {
  readonly url: string;
  readonly token: string | undefined;
  readonly trust?: ServerTrust;
  readonly agent: string;
  readonly agentVersion: string;
  /** What it claims, as the cases name their needs. */
  readonly claims: ReadonlySet<string>;
  readonly binding: Binding;
}

/** Reads the card of a server and chooses how to speak to it. Throws, with what there is, when the choice is not there. */
export async function findSubject(target: ServerTarget, signal: AbortSignal): Promise<Subject> {
  const card = await readCard(target, signal);
  const offered = interfacesIn(card, target.url);
  const chosen = offered.find((item) => isWanted(item, target));
  if (chosen) assertOwnHost(chosen, target);
  const binding = chosen && bindingOf(chosen, target);
  if (!binding) throw new Error(`the agent has no ${wantedText(target)}: its card lists ${listText(offered)}`);
  return {
    url: target.url,
    token: target.token,
    ...(target.trust && { trust: target.trust }),
    agent: String(card.name ?? ""),
    agentVersion: String(card.version ?? ""),
    claims: claimsIn(card),
    binding,
  };
}

const CARD = "/.well-known/agent-card.json";

/** The card; for who names version and binding, and has none, one that says as much. */
async function readCard(target: ServerTarget, signal: AbortSignal): Promise<JsonObject> {
  const { url, protocolVersion, binding } = target;
  const isNamed = protocolVersion !== undefined && binding !== undefined;
  const card = await fetchCard(target, signal);
  if (card) return card;
  if (isNamed) return { supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion }] };
  throw new Error(`there is no agent card at ${url}${CARD}: name the version of A2A and the binding to do without`);
}

async function fetchCard(
  { url, token, protocolVersion, trust }: ServerTarget,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const address = new URL(`${url.replace(/\/+$/, "")}${CARD}`);
  const headers = {
    ...(protocolVersion && { "a2a-version": protocolVersion }),
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const { fetch } = trust ?? globalThis;
  const response = await fetch(address, { headers, signal });
  if (!response.ok) return undefined;
  const text = await response.text();
  try {
    return fieldsOf(JSON.parse(text));
  } catch (cause) {
    throw new Error(`the agent card at ${address} is no JSON: ${JSON.stringify(text.slice(0, 200))}`, { cause });
  }
}

/** A card may name any host: the token goes to none but the one that it is for. */
function assertOwnHost(chosen: Interface, { url, token }: ServerTarget): void {
  const [own, other] = [new URL(url).hostname, new URL(chosen.url).hostname];
  if (!token || own === other) return;
  throw new Error(
    `the card sends its clients from ${own} to ${other}: test ${other} by its own address, or without a token`,
  );
}

function isWanted(item: Interface, { protocolVersion, binding }: ServerTarget): boolean {
  if (protocolVersion !== undefined && item.protocolVersion !== protocolVersion) return false;
  return binding === undefined ? item.binding in (MAKERS[item.protocolVersion] ?? {}) : item.binding === binding;
}

type Maker = (endpoint: Endpoint) => Binding;

const MAKERS: Readonly<Record<string, Readonly<Record<string, Maker>>>> = {
  "0.3": { JSONRPC: (endpoint) => jsonRpcBinding("0.3", endpoint), "HTTP+JSON": restBindingV03 },
  "1.0": {
    JSONRPC: (endpoint) => jsonRpcBinding("1.0", endpoint),
    "HTTP+JSON": restBinding,
    GRPC: grpcBinding,
  },
};

function bindingOf({ url, protocolVersion, binding }: Interface, { token, trust }: ServerTarget): Binding | undefined {
  return MAKERS[protocolVersion]?.[binding]?.({ url, token, ...(trust && { trust }) });
}

function wantedText({ protocolVersion, binding }: ServerTarget): string {
  const version = protocolVersion === undefined ? "A2A" : `A2A ${protocolVersion}`;
  return `${version} over ${binding ?? "a binding that the kit speaks"}`;
}

function listText(offered: readonly Interface[]): string {
  const listed = offered.map(({ binding, protocolVersion }) => `A2A ${protocolVersion} over ${binding}`);
  return listed.length === 0 ? "nothing" : [...new Set(listed)].join(", ");
}
