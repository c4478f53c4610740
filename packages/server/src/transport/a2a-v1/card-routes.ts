import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { encodeRfcJson } from "@devtool/schema";
import { AgentCardSchema, encodeA2aJson } from "@devtool/schema/a2a-v1";
import { type AgentCard as CardV03, AgentCardSchema as CardV03Schema } from "@devtool/schema/a2a-v03";
import { hybridOf } from "../a2a/hybrid-card.ts";
import type { CardKey } from "../auth/card-signature.ts";
import { type HttpRequest, type HttpResponse, headerOf, type Route, send } from "../http/route.ts";
import { agentCardV1 } from "./card.ts";
import { isVersion1, versionOf } from "./version.ts";

/** How the card is published. */
export interface CardRoutesOptions {
  /** The card in the form of A2A 0.3, which the other form is made of. */
  readonly card: CardV03;
  readonly baseUrl: string;
  /** The tenant that calls of 1.0 are for. Default: none. */
  readonly tenant?: string;
  /** The key that signs now: the card in the form of 1.0, the only one whose signatures are defined. Default: none. */
  readonly key?: () => Promise<CardKey>;
  /** Since when the card is as it is. */
  readonly modified: Date;
  /** What who names no version gets: both forms in one, or the form of 1.0 alone for those who read it strictly. */
  readonly unversioned?: "hybrid" | "v1";
}

/**
 * The card at its well-known path and at the older one, in the form that the caller's version asks for. Who names none
 * gets both forms in one (CARD-1).
 */
export function cardRoutes(options: CardRoutesOptions): Route[] {
  const variantFor = createVariants(options);
  return ["/.well-known/agent-card.json", "/.well-known/agent.json"].map((path) => ({
    name: `GET ${path}`,
    access: "public",
    matches: (method, requested) => (method === "GET" || method === "HEAD") && requested === path,
    handle: async (request, response) =>
      answer(request, response, { ...(await variantFor(versionOf(request))), modified: options.modified }),
  }));
}

interface Variant {
  readonly body: string;
  readonly etag: string;
}

/** The form that a version asks for; each is made when the first asks for it. */
function createVariants({ card, baseUrl, tenant, key, unversioned = "hybrid" }: CardRoutesOptions): VariantFor {
  const plain = encodeA2aJson(AgentCardSchema, agentCardV1(card, baseUrl, tenant));
  const v1 = signedVariant(plain, key);
  let hybrid: Variant | undefined;
  return async (version) => {
    const wantsV1 = version === "" ? unversioned === "v1" : isVersion1(version);
    if (wantsV1) return v1();
    hybrid ??= variantOf(hybridOf(encodeRfcJson(CardV03Schema, card), plain));
    return hybrid;
  };
}

type VariantFor = (version: string) => Promise<Variant>;

/** The card with a signature of the key that signs now: made once for each key, so that its tag stays. */
function signedVariant(card: JsonObject, key: CardRoutesOptions["key"]): () => Promise<Variant> {
  let last: { readonly keyId: string; readonly variant: Promise<Variant> } | undefined;
  return async () => {
    if (!key) return variantOf(card);
    const current = await key();
    if (last?.keyId !== current.keyId) last = { keyId: current.keyId, variant: signed(card, current) };
    return last.variant;
  };
}

async function signed(card: JsonObject, key: CardKey): Promise<Variant> {
  const { signCard } = await import("../auth/card-signature.ts");
  return variantOf(await signCard(card, key));
}

function variantOf(card: JsonObject): Variant {
  const body = JSON.stringify(card);
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"` };
}

interface Dated extends Variant {
  readonly modified: Date;
}

function answer(request: HttpRequest, response: HttpResponse, { body, etag, modified }: Dated): void {
  const dated = { etag, "last-modified": modified.toUTCString() };
  const caching = { ...dated, "cache-control": "public, max-age=60", vary: "A2A-Version" };
  const isKnown = headerOf(request, "if-none-match") === etag;
  send(response, isKnown ? 304 : 200, { body: isKnown ? "" : body, ...caching });
}
