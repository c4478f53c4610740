import { Code, ConnectError } from "@connectrpc/connect";
import { decodeRfcText, findExtension, WireError } from "@devtool/schema";
import { type AgentCard, AgentCardSchema } from "@devtool/schema/a2a-v03";
import { waitFor } from "./peer.ts";

/** Where an agent's card is. */
export interface AgentCardOptions {
  /** The base URL of the agent; its card is at `/.well-known/agent-card.json`. */
  readonly url: string;
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Fetches an agent's card and checks that it has the development-tool extension in a version that we can work with
 * (CARD-2). Throws a `ConnectError`: `Code.FailedPrecondition` naming both versions, or that there is no extension.
 */
export async function fetchAgentCard(
  { url, fetch = globalThis.fetch }: AgentCardOptions,
  signal: AbortSignal,
): Promise<AgentCard> {
  const asked = fetch(new URL("/.well-known/agent-card.json", url), { signal, headers: { "a2a-version": "0.3" } });
  const response = await waitFor(asked, signal);
  if (!response.ok) throw new ConnectError(`the agent at ${url} has no card: HTTP ${response.status}`, Code.NotFound);
  try {
    const card = decodeRfcText(AgentCardSchema, await waitFor(response.text(), signal));
    assertExtension(card, url);
    return card;
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new ConnectError(reason.message, Code.FailedPrecondition);
  }
}

function assertExtension(card: AgentCard, url: string): void {
  const uris = card.capabilities?.extensions.map(({ uri }) => uri) ?? [];
  if (findExtension(uris) !== undefined) return;
  throw new ConnectError(`the agent at ${url} does not have the development-tool extension`, Code.FailedPrecondition);
}
