import { Code, ConnectError } from "@connectrpc/connect";
import { decodeRfcJson, findExtension, parseJson, WireError } from "@devtool/schema";
import { type AgentCard, AgentCardSchema, agentCardFromV03, decodeA2aJson } from "@devtool/schema/a2a-v1";
import { AgentCardSchema as CardV03Schema } from "@devtool/schema/a2a-v03";
import type { ExtensionUse } from "./headers.ts";
import { listOf, objectOf } from "./json.ts";
import { waitFor, wordsOf } from "./peer.ts";

/** Where an agent's card is. */
export interface AgentCardOptions {
  /** The base URL of the agent; its card is at `.well-known/agent-card.json` below it, or at the root of its host. */
  readonly url: string;
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch;
  /**
   * Whether an agent must have the development-tool extension; without it there are text and states alone. A version of it
   * that does not fit ours is refused either way. Default `required`.
   */
  readonly extension?: "required" | "optional";
}

/**
 * Fetches an agent's card, in the form of A2A 1.0 also where the agent has that of 0.3, and checks that it has the
 * development-tool extension in a version that we can work with (CARD-2). Throws a `ConnectError`:
 * `Code.FailedPrecondition` naming both versions, or that there is no extension.
 */
export async function fetchAgentCard(options: AgentCardOptions, signal: AbortSignal): Promise<AgentCard> {
  const text = await cardText(options, signal);
  const card = reading(() => decodeCard(text));
  assertExtension(card, options);
  return card;
}

async function cardText({ url, fetch = globalThis.fetch }: AgentCardOptions, signal: AbortSignal): Promise<string> {
  const refusals: string[] = [];
  for (const address of cardAddresses(url)) {
    const response = await waitFor(fetch(address, { signal, headers: { "a2a-version": "1.0" } }), signal);
    const text = await waitFor(response.text(), signal);
    if (response.ok) return text;
    const words = wordsOf(text);
    refusals.push(`HTTP ${response.status}${words === "" ? "" : `: ${words}`}`);
  }
  throw new ConnectError(`the agent at ${url} has no card: ${refusals[0]}`, Code.NotFound);
}

/** Where the card of an agent may be: below the path of its URL, which may be a proxy's prefix, and at the root of its host. */
function cardAddresses(url: string): ReadonlySet<string> {
  const { href, origin } = new URL(url);
  const path = "/.well-known/agent-card.json";
  return new Set([`${href.replace(/[?#].*$/, "").replace(/\/+$/, "")}${path}`, `${origin}${path}`]);
}

/** Reads a card; one that cannot be read is no fault of the call. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new ConnectError(reason.message, Code.FailedPrecondition);
  }
}

/** A card that lists interfaces is one of 1.0, or has both forms in one. */
function decodeCard(text: string): AgentCard {
  const json = parseJson(text);
  if (listOf(objectOf(json).supportedInterfaces).length > 0) return decodeA2aJson(AgentCardSchema, json);
  return agentCardFromV03(decodeRfcJson(CardV03Schema, json, "AgentCard"));
}

/**
 * Tells whether a card lists the development-tool extension. Throws a `ConnectError` with `Code.FailedPrecondition` that
 * names both versions when it has one that does not fit ours (CARD-2).
 */
export function extensionOf({ capabilities }: AgentCard): ExtensionUse {
  const uris = capabilities?.extensions.map(({ uri }) => uri) ?? [];
  return reading(() => (findExtension(uris) === undefined ? "none" : "active"));
}

function assertExtension(card: AgentCard, { url, extension = "required" }: AgentCardOptions): void {
  if (extensionOf(card) === "active" || extension === "optional") return;
  throw new ConnectError(`the agent at ${url} does not have the development-tool extension`, Code.FailedPrecondition);
}
