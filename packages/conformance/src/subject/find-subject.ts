import type { JsonObject } from "@bufbuild/protobuf";
import { defined, objectOrEmpty } from "@devtool/internal/json";
import type {
  Binding,
  BindingName,
  Endpoint,
  ProtocolVersion,
  ServerTrust,
} from "../binding/binding.ts";
import { grpcBinding } from "../binding/grpc-v1.ts";
import { jsonRpcBinding } from "../binding/json-rpc.ts";
import { restBinding } from "../binding/rest-v1.ts";
import { restBindingV03 } from "../binding/rest-v03.ts";
import { preview } from "../match/match.ts";
import {
  type AgentInterface,
  readClaims,
  readInterfaces,
} from "./agent-card.ts";

/**
 * The server to test.
 */
export interface ServerTarget {
  /**
   * The URL below which the server's agent card is found.
   */
  readonly url: string;
  /**
   * The bearer token to send.
   *
   * Default: none.
   */
  readonly token?: string;
  /**
   * The version of A2A to test.
   *
   * Default: that of the first interface of the card that the kit supports.
   */
  readonly protocolVersion?: ProtocolVersion;
  /**
   * The binding to test.
   *
   * Default: that of the first interface of the card, in the chosen version,
   * that the kit supports.
   */
  readonly binding?: BindingName;
  /**
   * How the server's certificate is verified.
   *
   * Default: with the certificate authorities that Node trusts.
   */
  readonly trust?: ServerTrust;
}

/**
 * A server under test: what its card says, and the binding to test it over.
 */
export interface Subject {
  readonly url: string;
  readonly token: string | undefined;
  readonly trust?: ServerTrust | undefined;
  /**
   * The agent's name. Empty if its card has none.
   */
  readonly agent: string;
  /**
   * The agent's version. Empty if its card has none.
   */
  readonly agentVersion: string;
  /**
   * What the card claims, by the names that cases use in `needs`.
   */
  readonly claims: ReadonlySet<string>;
  readonly binding: Binding;
}

const CARD_PATH = "/.well-known/agent-card.json";

/**
 * Reads the card of a server and chooses the interface to test.
 *
 * ```ts
 * const subject = await findSubject({ url, token, protocolVersion: "1.0" }, signal);
 * for await (const { id, status } of runServerSuite(subject, signal)) console.log(id, status);
 * ```
 *
 * A target that names version and binding may have no card: its own URL is then
 * that of the interface.
 *
 * Throws if the card has no such interface, with a list of those it has; if the
 * interface is at another host, which must not get the token; and if there is
 * no card, or one that is not JSON.
 */
export async function findSubject(
  target: ServerTarget,
  signal: AbortSignal,
): Promise<Subject> {
  const { url, token, trust, protocolVersion, binding } = target;
  const card = await readCard(target, signal);
  const offered = readInterfaces(card, url);
  const chosen = offered.find((item) => {
    if (
      protocolVersion !== undefined &&
      item.protocolVersion !== protocolVersion
    ) {
      return false;
    }
    return binding === undefined
      ? item.binding in (BINDINGS[item.protocolVersion] ?? {})
      : item.binding === binding;
  });
  if (chosen) assertOwnHost(chosen, target);
  const create = chosen && BINDINGS[chosen.protocolVersion]?.[chosen.binding];
  if (!create) {
    const version =
      protocolVersion === undefined ? "A2A" : `A2A ${protocolVersion}`;
    const wanted = `${version} over ${binding ?? "a binding that the kit supports"}`;
    const listed = new Set(
      offered.map((item) => `A2A ${item.protocolVersion} over ${item.binding}`),
    );
    throw new Error(
      `the agent has no ${wanted}: its card lists ${[...listed].join(", ") || "nothing"}`,
    );
  }
  return {
    url,
    token,
    trust,
    agent: String(card.name ?? ""),
    agentVersion: String(card.version ?? ""),
    claims: readClaims(card),
    binding: create({ url: chosen.url, token, trust }),
  };
}

/**
 * Fetches the card. If there is none, a target that names version and binding
 * is its own card.
 */
async function readCard(
  target: ServerTarget,
  signal: AbortSignal,
): Promise<JsonObject> {
  const { url, token, protocolVersion, binding, trust } = target;
  const address = new URL(`${url.replace(/\/+$/, "")}${CARD_PATH}`);
  const headers = defined({
    "a2a-version": protocolVersion,
    authorization:
      token === undefined || token === "" ? undefined : `Bearer ${token}`,
  });
  const { fetch } = trust ?? globalThis;
  const response = await fetch(address, { headers, signal });
  if (!response.ok) {
    if (protocolVersion !== undefined && binding !== undefined) {
      return {
        supportedInterfaces: [
          { url, protocolBinding: binding, protocolVersion },
        ],
      };
    }
    throw new Error(
      `there is no agent card at ${url}${CARD_PATH}: name the version of A2A and the binding to test`,
    );
  }
  const text = await response.text();
  try {
    return objectOrEmpty(JSON.parse(text));
  } catch (cause) {
    throw new Error(
      `the agent card at ${address} is not valid JSON: got ${preview(text, 200)}`,
      { cause },
    );
  }
}

/**
 * Throws if the token would be sent to another host than the one that it is
 * meant for.
 */
function assertOwnHost(
  chosen: AgentInterface,
  { url, token }: ServerTarget,
): void {
  const [own, other] = [new URL(url).hostname, new URL(chosen.url).hostname];
  if (!token || own === other) return;
  throw new Error(
    `the card sends clients from ${own} to ${other}: test ${other} by its own address, or without a token`,
  );
}

/**
 * The supported bindings by version and by their names in agent cards.
 */
const BINDINGS: Readonly<
  Record<string, Readonly<Record<string, (endpoint: Endpoint) => Binding>>>
> = {
  "0.3": {
    JSONRPC: (endpoint) => jsonRpcBinding("0.3", endpoint),
    "HTTP+JSON": restBindingV03,
  },
  "1.0": {
    JSONRPC: (endpoint) => jsonRpcBinding("1.0", endpoint),
    "HTTP+JSON": restBinding,
    GRPC: grpcBinding,
  },
};
