import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { encodeRfcJson } from "@devtool/schema";
import { AgentCardSchema, encodeA2aJson } from "@devtool/schema/a2a-v1";
import {
  type AgentCard as CardV03,
  AgentCardSchema as CardV03Schema,
} from "@devtool/schema/a2a-v03";
import { loadOnce } from "../../stream/load-once.ts";
import { hybridCard } from "../a2a/card.ts";
import type { CardKey } from "../auth/card-signature.ts";
import {
  CARD_PATHS,
  isKnownTag,
  publicRoute,
  type Route,
  send,
} from "../http/route.ts";
import { agentCardV1 } from "./card.ts";
import { isVersion1, versionOf } from "./version.ts";

/** Options of `cardRoutes`. */
export interface CardRoutesOptions {
  /** The card in the form of A2A 0.3, from which the other form is made. */
  readonly card: CardV03;

  /** The URL at which clients reach the agent, without a trailing slash. */
  readonly baseUrl: string;

  /** The tenant that calls of A2A 1.0 must name. Default: none. */
  readonly tenant?: string;

  /**
   * Resolves to the current signing key. Only the form of 1.0 is signed: 0.3
   * defines no signatures. Default: the card is not signed.
   */
  readonly key?: () => Promise<CardKey>;

  /** Whether the card lists gRPC. */
  readonly grpc: boolean;

  /** The time of the last change to the card. */
  readonly modified: Date;

  /**
   * The form for requests that name no version: both forms in one, or that of
   * 1.0 for strict readers.
   *
   * Default: hybrid.
   */
  readonly unversioned?: "hybrid" | "v1";
}

/** A card as JSON text, and its entity tag. */
interface Variant {
  readonly body: string;
  readonly etag: string;
}

/**
 * The routes of the card, at its well-known path and at its older one, in the
 * form of the version that a request names (CARD-1).
 */
export function cardRoutes({
  modified,
  ...options
}: CardRoutesOptions): Route[] {
  const variants = new CardVariants(options);
  return CARD_PATHS.map((path) =>
    publicRoute(path, async (request, response) => {
      const { body, etag } = await variants.get(versionOf(request));
      const isKnown = isKnownTag(request, etag);
      send(response, isKnown ? 304 : 200, {
        body: isKnown ? "" : body,
        etag,
        "last-modified": modified.toUTCString(),
        "cache-control": "public, max-age=60",
        vary: "A2A-Version",
      });
    }),
  );
}

/** The forms of a card, each made when it is first asked for. */
class CardVariants {
  readonly #options: Omit<CardRoutesOptions, "modified">;
  readonly #v1: JsonObject;
  #hybrid: Variant | undefined;
  #signed:
    | { readonly keyId: string; readonly load: () => Promise<Variant> }
    | undefined;

  constructor(options: Omit<CardRoutesOptions, "modified">) {
    this.#options = options;
    this.#v1 = encodeA2aJson(
      AgentCardSchema,
      agentCardV1(options.card, options),
    );
  }

  /**
   * Returns the form for a version; an empty one stands for a request that
   * names none. That of 1.0 is signed once per key.
   */
  async get(version: string): Promise<Variant> {
    const { card, key, unversioned = "hybrid" } = this.#options;
    const isV1 = version === "" ? unversioned === "v1" : isVersion1(version);
    if (!isV1) {
      this.#hybrid ??= variantOf(
        hybridCard(encodeRfcJson(CardV03Schema, card), this.#v1),
      );
      return this.#hybrid;
    }
    if (!key) return variantOf(this.#v1);
    const current = await key();
    if (this.#signed?.keyId !== current.keyId) {
      const { keyId } = current;
      this.#signed = { keyId, load: loadOnce(() => this.#sign(current)) };
    }
    return this.#signed.load();
  }

  /**
   * Returns the form of 1.0 with the signature of a key.
   *
   * Its entity tag is that of the card and the key, which servers behind one
   * address share, and not of the signature, in which each of them has other
   * random bytes.
   */
  async #sign(key: CardKey): Promise<Variant> {
    const { signCard } = await import("../auth/card-signature.ts");
    const { etag } = variantOf({ card: this.#v1, key: key.keyId });
    return { body: JSON.stringify(await signCard(this.#v1, key)), etag };
  }
}

function variantOf(card: JsonObject): Variant {
  const body = JSON.stringify(card);
  return {
    body,
    etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`,
  };
}
