import type { JsonObject } from "@bufbuild/protobuf";
import { canonicalCard } from "@devtool/schema/a2a-v1";
import { type CryptoKey, FlattenedSign, type KeyObject } from "jose";

/** A private key that signs agent cards. */
export interface CardKey {
  /** The id of the key in the key set. */
  readonly keyId: string;
  /** The signature algorithm, for instance `ES256`. */
  readonly algorithm: string;
  readonly privateKey: CryptoKey | KeyObject;
  /** The URL of the key set that holds the public key. */
  readonly jwksUrl: string;
}

/**
 * Signs a card of A2A 1.0 (section 8.4): adds a detached JWS over the canonical
 * text of the card.
 */
export async function signCard(
  card: JsonObject,
  { keyId, algorithm, privateKey, jwksUrl }: CardKey,
): Promise<JsonObject> {
  const header = { alg: algorithm, typ: "JOSE", kid: keyId, jku: jwksUrl };
  const payload = new TextEncoder().encode(canonicalCard(card));
  const jws = await new FlattenedSign(payload)
    .setProtectedHeader(header)
    .sign(privateKey);
  return {
    ...card,
    signatures: [{ protected: jws.protected ?? "", signature: jws.signature }],
  };
}
