import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { objectOrEmpty } from "@devtool/internal/json";
import { shownUrl } from "@devtool/internal/shown-url";
import {
  decodeRfcJson,
  findExtension,
  isExtensionUri,
  mistyped,
  parseJson,
  quote,
  WireError,
} from "@devtool/schema";
import {
  type AgentCard,
  AgentCardSchema,
  agentCardFromV03,
  canonicalCard,
  decodeA2aJson,
} from "@devtool/schema/a2a-v1";
import { AgentCardSchema as CardV03Schema } from "@devtool/schema/a2a-v03";
import type { JSONWebKeySet } from "jose";
import { agentUrl } from "./agent-url.ts";
import { decodeReadable } from "./decode-readable.ts";
import type { ExtensionUse } from "./endpoint.ts";
import { readErrorText } from "./errors.ts";
import { readText } from "./response-text.ts";
import { waitFor, wellFormed } from "./wire.ts";

/**
 * Options of `fetchAgentCard`.
 */
export interface AgentCardOptions {
  /**
   * The base URL of the agent. The card is looked for at
   * `.well-known/agent-card.json` below this URL, then at the root of its host,
   * and then at `.well-known/agent.json`, where A2A 0.2 had it. A query of the
   * URL is sent with each.
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
  /**
   * The trusted keys, one of which must have signed the card (A2A 1.0, section
   * 8.4). The key location that the card names itself is never followed.
   *
   * Default: signatures are not checked.
   */
  readonly keys?: JSONWebKeySet;
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
 * another version of it, which the message names; `Code.Unauthenticated` if no
 * trusted key has signed the card; `Code.InvalidArgument` for an invalid URL; `Code.Unavailable`, `Code.DeadlineExceeded` or `Code.Canceled` if
 * the agent was not reached, or a proxy says that it is down (502 to 504).
 */
export async function fetchAgentCard(
  options: AgentCardOptions,
  signal: AbortSignal,
): Promise<AgentCard> {
  const { url, extension = "required", onLeftOut, keys } = options;
  const text = await fetchCardText(options, signal);
  const read = asFailedPrecondition(() => wellFormed(parseJson(text)));
  const json = keys ? await signedPart(read, keys) : read;
  const { value: card, leftOut } = decodeReadable(json, decodeWhole);
  if (!card || card.supportedInterfaces.length === 0) {
    const [why = "it lists no interface"] = leftOut;
    throw new ConnectError(why, Code.FailedPrecondition);
  }
  for (const why of leftOut) onLeftOut?.(why);
  if (extensionOf(card) === "none" && extension === "required") {
    const message = `the agent at ${shownUrl(url)} does not have the development-tool extension`;
    throw new ConnectError(message, Code.FailedPrecondition);
  }
  return card;
}

/**
 * Returns what the signature of a card covers. What it leaves out, such as a
 * second spelling of a field, is not read.
 */
async function signedPart(
  json: JsonValue,
  keys: JSONWebKeySet,
): Promise<JsonValue> {
  const card = objectOrEmpty(json);
  const { verifyCard } = await import("../card/verify-card.ts");
  await verifyCard(card, { keys });
  return parseJson(canonicalCard(card));
}

/**
 * Elements of a card that are left out as a whole: without a part of it, an
 * interface is another one, and a requirement of less.
 */
const WHOLE =
  /^(AgentCard\.)?((supported|additional)_?[iI]nterfaces|(skills\[\d+\]\.)?security(_?[rR]equirements)?)\[\d+\]/;

function decodeWhole(json: JsonValue): AgentCard {
  try {
    const card = decodeCard(json);
    assertFollows(card);
    return card;
  } catch (reason) {
    const field = reason instanceof WireError && WHOLE.exec(reason.field)?.[0];
    if (!field) throw reason;
    const sentence = reason.message;
    throw new WireError(field, "", "", { sentence, cause: reason });
  }
}

function decodeCard(json: JsonValue): AgentCard {
  const { supportedInterfaces, url, capabilities } = objectOrEmpty(json);
  const listed = supportedInterfaces ?? [];
  const isV1 = !Array.isArray(listed) || listed.length > 0;
  if (isV1) return decodeA2aJson(AgentCardSchema, json);
  const old = decodeRfcJson(CardV03Schema, json, "AgentCard");
  const card = agentCardFromV03(old);
  const unknown = Object.keys(old.securitySchemes).find(
    (name) => !Object.hasOwn(card.securitySchemes, name),
  );
  if (unknown !== undefined) {
    throw new WireError(
      `securitySchemes[${JSON.stringify(unknown)}]`,
      quote(old.securitySchemes[unknown]?.type),
      "is of a type that is not read: http, apiKey, openIdConnect and mutualTLS are",
    );
  }
  // Agents that stream and do not say so are common.
  const { streaming = null } = objectOrEmpty(capabilities);
  if (streaming === null) delete card.capabilities?.streaming;
  if (typeof url !== "string") {
    card.supportedInterfaces = card.supportedInterfaces.filter(
      (each) => each.url !== "",
    );
  }
  return card;
}

/** Throws a `WireError` for what an agent follows if it is not text. */
function assertFollows({ capabilities }: AgentCard): void {
  const extensions = capabilities?.extensions ?? [];
  for (const [index, { uri, params }] of extensions.entries()) {
    const { follows = null } = isExtensionUri(uri) && params ? params : {};
    const path = `capabilities.extensions[${index}].params.follows`;
    if (follows === null) continue;
    if (!Array.isArray(follows)) throw mistyped(path, follows, "a list");
    const at = follows.findIndex((name) => typeof name !== "string");
    if (at >= 0) throw mistyped(`${path}[${at}]`, follows[at], "a string");
  }
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
  const { origin, pathname, search } = agentUrl(url);
  const base = `${origin}${pathname}`.replace(/\/+$/, "");
  // The path of the URL may be the prefix of a proxy, so the card may be below
  // it.
  const addresses = new Set(
    ["/.well-known/agent-card.json", "/.well-known/agent.json"].flatMap(
      (path) => [`${base}${path}${search}`, `${origin}${path}${search}`],
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
  // A proxy whose agent does not answer, which may come back.
  const down = refusals.find((refusal) => /^HTTP 50[234]\b/.test(refusal));
  if (down !== undefined) {
    const message = `the agent at ${shownUrl(url)} cannot be reached now: ${down}`;
    throw new ConnectError(message, Code.Unavailable);
  }
  throw new ConnectError(
    `the agent at ${shownUrl(url)} has no card: ${refusals[0]}`,
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
