import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  decodeRfcJson,
  findExtension,
  parseJson,
  WireError,
} from "@devtool/schema";
import {
  type AgentCard,
  AgentCardSchema,
  agentCardFromV03,
  decodeA2aJson,
} from "@devtool/schema/a2a-v1";
import { AgentCardSchema as CardV03Schema } from "@devtool/schema/a2a-v03";
import { listOrEmpty, objectOrEmpty } from "@devtool/schema/json";
import { agentUrl } from "./agent-url.ts";
import { decodeReadable } from "./decode-readable.ts";
import type { ExtensionUse } from "./endpoint.ts";
import { readErrorText } from "./errors.ts";
import { readText } from "./response-text.ts";
import { waitFor } from "./wire.ts";

/**
 * Options of `fetchAgentCard`.
 */
export interface AgentCardOptions {
  /**
   * The base URL of the agent. The card is looked for at
   * `.well-known/agent-card.json` below this URL, then at the root of its host,
   * and then at `.well-known/agent.json`, where A2A 0.2 had it.
   */
  readonly url: string;
  /**
   * The function that makes the HTTP request.
   *
   * Default: the global `fetch`.
   */
  readonly fetch?: typeof globalThis.fetch;
  /**
   * Whether the agent must have the development-tool extension. An agent
   * without it offers text and task states only. An incompatible version of the
   * extension is refused either way.
   *
   * Default: `required`.
   */
  readonly extension?: "required" | "optional";
  /**
   * Called for each element of the card that cannot be read and is left out.
   *
   * Default: not reported.
   */
  readonly onLeftOut?: (why: string) => void;
}

/**
 * Fetches an agent's card and checks that the development-tool extension is
 * there in a compatible version (CARD-2). A card in the form of A2A 0.3 is
 * converted to that of 1.0.
 *
 * ```ts
 * const card = await fetchAgentCard({ url: "http://127.0.0.1:41242" }, signal);
 * const client = createDevtoolClient(createAgentTransport(card, { url, token }));
 * ```
 *
 * Throws a `ConnectError`: `Code.NotFound` if there is no card;
 * `Code.FailedPrecondition` if the card is invalid, lacks the extension, or has
 * another version of it, which the message names; `Code.InvalidArgument` for an
 * invalid URL; `Code.Unavailable`, `Code.DeadlineExceeded` or `Code.Canceled` if
 * the agent was not reached.
 */
export async function fetchAgentCard(
  options: AgentCardOptions,
  signal: AbortSignal,
): Promise<AgentCard> {
  const { url, extension = "required", onLeftOut } = options;
  const text = await fetchCardText(options, signal);
  const json = asFailedPrecondition(() => parseJson(text));
  const { value: card, leftOut } = decodeReadable(json, decodeCard);
  if (!card || card.supportedInterfaces.length === 0) {
    const [why = "it lists no interface"] = leftOut;
    throw new ConnectError(why, Code.FailedPrecondition);
  }
  for (const why of leftOut) onLeftOut?.(why);
  if (extensionOf(card) === "none" && extension === "required") {
    const message = `the agent at ${url} does not have the development-tool extension`;
    throw new ConnectError(message, Code.FailedPrecondition);
  }
  return card;
}

function decodeCard(json: JsonValue): AgentCard {
  const isV1 = listOrEmpty(objectOrEmpty(json).supportedInterfaces).length > 0;
  if (isV1) return decodeA2aJson(AgentCardSchema, json);
  const card = agentCardFromV03(
    decodeRfcJson(CardV03Schema, json, "AgentCard"),
  );
  // Agents that stream and do not say so are common.
  const said = objectOrEmpty(objectOrEmpty(json).capabilities).streaming;
  if (said === undefined) delete card.capabilities?.streaming;
  return card;
}

/**
 * Returns whether a card lists the development-tool extension.
 *
 * Throws `Code.FailedPrecondition` for an incompatible version; the message
 * names both versions (CARD-2).
 */
export function extensionOf({ capabilities }: AgentCard): ExtensionUse {
  const uris = capabilities?.extensions.map(({ uri }) => uri) ?? [];
  return asFailedPrecondition(() =>
    findExtension(uris) === undefined ? "none" : "active",
  );
}

async function fetchCardText(
  { url, fetch = globalThis.fetch }: AgentCardOptions,
  signal: AbortSignal,
): Promise<string> {
  const { href, origin } = agentUrl(url);
  const base = href.replace(/[?#].*$/, "").replace(/\/+$/, "");
  // The path of the URL may be the prefix of a proxy, so the card may be below
  // it.
  const addresses = new Set(
    ["/.well-known/agent-card.json", "/.well-known/agent.json"].flatMap(
      (path) => [`${base}${path}`, `${origin}${path}`],
    ),
  );
  const refusals: string[] = [];
  for (const address of addresses) {
    const response = await waitFor(
      fetch(address, { signal, headers: { "a2a-version": "1.0" } }),
      signal,
    );
    const text = await waitFor(readText(response), signal);
    if (response.ok) return text;
    const reason = readErrorText(text);
    refusals.push(
      `HTTP ${response.status}${reason === "" ? "" : `: ${reason}`}`,
    );
  }
  throw new ConnectError(
    `the agent at ${url} has no card: ${refusals[0]}`,
    Code.NotFound,
  );
}

/**
 * An invalid card is the agent's fault, so it must not look like an invalid
 * argument of the call.
 */
function asFailedPrecondition<T>(read: () => T): T {
  try {
    return read();
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new ConnectError(reason.message, Code.FailedPrecondition);
  }
}
