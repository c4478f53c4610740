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
import { networkProblem } from "../binding/network-problem.ts";
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
   * The URL below which the server's agent card is found, that of the card, or
   * that of an interface on a host that has a card.
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
  /**
   * Time limit of the card in milliseconds.
   *
   * Default: 30,000.
   */
  readonly timeoutMs?: number;
}

/**
 * A server under test: what its card says, and the binding to test it over.
 */
export interface Subject {
  /**
   * The URL that the paths of plain HTTP requests are below.
   */
  readonly url: string;
  /**
   * The URL of the agent card.
   */
  readonly cardUrl: string;
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

export const CARD_PATH = "/.well-known/agent-card.json";

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
 * interface is at another host, which must not get the token; if nothing answers
 * at the URL in time; and if there is no card, or one that is not JSON.
 */
export async function findSubject(
  target: ServerTarget,
  signal: AbortSignal,
): Promise<Subject> {
  const { url, token, trust, protocolVersion, binding } = target;
  const { card, cardUrl } = await readCard(target, signal);
  const offered = readInterfaces(card, cardUrl.replace(CARD_PATH, ""));
  const fitting = offered.filter((item) => {
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
  const chosen = fitting.find((item) => item.url === url) ?? fitting[0];
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
    url: cardUrl.endsWith(CARD_PATH)
      ? cardUrl.slice(0, -CARD_PATH.length)
      : new URL(cardUrl).origin,
    cardUrl,
    token,
    trust,
    agent: String(card.name ?? ""),
    agentVersion: String(card.version ?? ""),
    claims: readClaims(card),
    binding: create({ url: chosen.url, token, trust }),
  };
}

interface FoundCard {
  readonly card: JsonObject;
  readonly cardUrl: string;
}

/**
 * Fetches the card: at the URL itself if that is one of a JSON file, otherwise
 * below it, and then below its host. If there is none, a target that names
 * version and binding is its own card.
 */
async function readCard(
  target: ServerTarget,
  signal: AbortSignal,
): Promise<FoundCard> {
  const { url, protocolVersion, binding } = target;
  const base = url.replace(/\/+$/, "");
  const { origin, pathname } = new URL(url);
  const places = pathname.endsWith(".json")
    ? [url]
    : [...new Set([`${base}${CARD_PATH}`, `${origin}${CARD_PATH}`])];
  const missing: string[] = [];
  for (const cardUrl of places) {
    const { status, text } = await fetchCard(cardUrl, target, signal);
    if (status === 200) return { card: parseCard(cardUrl, text), cardUrl };
    missing.push(`${cardUrl} (HTTP ${status})`);
  }
  if (protocolVersion !== undefined && binding !== undefined) {
    const supportedInterfaces = [
      { url, protocolBinding: binding, protocolVersion },
    ];
    return { card: { supportedInterfaces }, cardUrl: `${base}${CARD_PATH}` };
  }
  throw new Error(
    `there is no agent card at ${missing.join(" or ")}: give the URL of the card, or that of an interface with its version (--a2a) and binding (--binding)`,
  );
}

/**
 * Fetches a card. Throws an error that says what is at the URL if none comes.
 */
async function fetchCard(
  cardUrl: string,
  { token, protocolVersion, trust, timeoutMs = 30_000 }: ServerTarget,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = defined({
    "a2a-version": protocolVersion,
    authorization:
      token === undefined || token === "" ? undefined : `Bearer ${token}`,
  });
  const { fetch } = trust ?? globalThis;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const response = await fetch(cardUrl, { headers, signal: limit });
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    signal.throwIfAborted();
    const problem = limit.aborted
      ? `no agent card came from ${cardUrl} in ${timeoutMs / 1000} s: see whether the server hangs, or allow more time with --timeout`
      : `no agent card came from ${cardUrl}: ${networkProblem(cardUrl, cause)}`;
    throw new Error(problem, { cause });
  }
}

function parseCard(cardUrl: string, text: string): JsonObject {
  try {
    return objectOrEmpty(JSON.parse(text));
  } catch (cause) {
    throw new Error(
      `the agent card at ${cardUrl} is not valid JSON: got ${preview(text, 200)}`,
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
