import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { loadOnce } from "@devtool/internal/load-once";
import { encodeRfcJson } from "@devtool/schema";
import { AgentCardSchema, encodeA2aJson } from "@devtool/schema/a2a-v1";
import {
  type AgentCard as CardV03,
  AgentCardSchema as CardV03Schema,
} from "@devtool/schema/a2a-v03";
import { hybridCard } from "../a2a/card.ts";
import type { DialectServices } from "../dialect.ts";
import { send } from "../http/route.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { agentCardV1, type Reach } from "./card.ts";
import { isVersion1, versionOf } from "./version.ts";

/** A card as JSON text, and its entity tag. */
interface Variant {
  readonly body: string;
  readonly etag: string;
}

type SigningKey = Awaited<ReturnType<DialectServices["signingKey"]>>;

/**
 * The public card of an agent, in the form of the version that a request names
 * (CARD-1). Each form is made when it is first asked for.
 */
export class PublishedCard {
  readonly #services: DialectServices;
  readonly #card: CardV03;
  readonly #v1: JsonObject;
  #hybrid: Variant | undefined;
  #signed:
    | { readonly keyId: string; readonly load: () => Promise<Variant> }
    | undefined;

  /** @param card in the form of A2A 0.3, from which the other form is made */
  constructor(services: DialectServices, card: CardV03, reach: Reach) {
    this.#services = services;
    this.#card = card;
    this.#v1 = encodeA2aJson(AgentCardSchema, agentCardV1(card, reach));
  }

  /** Answers a request for the card. */
  async send(call: RoutedCall): Promise<void> {
    send(call.response, 200, {
      ...(await this.#variantFor(versionOf(call))),
      "last-modified": this.#services.startedAt.toUTCString(),
      "cache-control": "public, max-age=60",
      vary: "A2A-Version",
    });
  }

  /**
   * Returns the form for a version; an empty one stands for a request that
   * names none. That of 1.0 is signed once per key: 0.3 defines no signatures.
   */
  async #variantFor(version: string): Promise<Variant> {
    const { unversionedCard } = this.#services.a2a;
    const isV1 =
      version === "" ? unversionedCard === "v1" : isVersion1(version);
    if (!isV1) {
      this.#hybrid ??= variantOf(
        hybridCard(encodeRfcJson(CardV03Schema, this.#card), this.#v1),
      );
      return this.#hybrid;
    }
    const key = await this.#services.signingKey();
    if (this.#signed?.keyId !== key.keyId) {
      const { keyId } = key;
      this.#signed = { keyId, load: loadOnce(() => this.#sign(key)) };
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
  async #sign(key: SigningKey): Promise<Variant> {
    const { signCard } = await import("./card-signature.ts");
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
