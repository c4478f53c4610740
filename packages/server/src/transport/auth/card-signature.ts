import type { JsonObject } from "@bufbuild/protobuf";
import { canonicalCard } from "@devtool/schema/a2a-v1";
import { type CryptoKey, FlattenedSign, type KeyObject } from "jose";

/** What a card is signed with. */
export interface CardKey {
  /** Names the key in the key set. */
  readonly keyId: string;
  /** Its algorithm, for instance `ES256`. */
  readonly algorithm: string;
  readonly privateKey: CryptoKey | KeyObject;
  /** Where the key set with the public key is. */
  readonly jwksUrl: string;
}

/** Signs a card of A2A 1.0 (section 8.4): a detached JWS over its canonical text. */
export async function signCard(card: JsonObject, key: CardKey): Promise<JsonObject> {
  return { ...card, signatures: [await signatureOf(canonicalCard(card), key)] };
}

async function signatureOf(text: string, { keyId, algorithm, privateKey, jwksUrl }: CardKey): Promise<JsonObject> {
  const header = { alg: algorithm, typ: "JOSE", kid: keyId, jku: jwksUrl };
  const jws = await new FlattenedSign(new TextEncoder().encode(text)).setProtectedHeader(header).sign(privateKey);
  return { protected: jws.protected ?? "", signature: jws.signature };
}
