import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { canonicalCard } from "@devtool/schema/a2a-v1";
import {
  base64url,
  createLocalJWKSet,
  errors,
  flattenedVerify,
  type JSONWebKeySet,
} from "jose";

/**
 * Options of `verifyCard`.
 */
export interface VerifyCardOptions {
  /**
   * The trusted keys. The key location that a card names itself is never
   * followed.
   */
  readonly keys: JSONWebKeySet;
}

/**
 * A card with a valid signature of a trusted key.
 */
export interface VerifiedCard {
  /**
   * The id of the key that signed the card. Empty if the signature names none.
   */
  readonly keyId: string;
}

/**
 * Only algorithms with public keys: with a shared secret, every verifier could
 * also sign.
 */
const ALGORITHMS = [
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
  "RS256",
  "PS256",
];

/**
 * Maximum number of signatures to check. Each check costs processor time.
 */
const MAX_SIGNATURES = 16;

/**
 * Verifies that a card of A2A 1.0 was signed, in its current content, with a
 * trusted key (section 8.4). One valid signature is enough.
 *
 * Throws `Code.Unauthenticated` if there is none.
 */
export async function verifyCard(
  card: JsonObject,
  { keys }: VerifyCardOptions,
): Promise<VerifiedCard> {
  const signatures = listOrEmpty(card.signatures)
    .slice(0, MAX_SIGNATURES)
    .flatMap((item) => {
      const { protected: header, signature } = objectOrEmpty(item);
      return typeof header === "string" && typeof signature === "string"
        ? [{ protected: header, signature }]
        : [];
    });
  if (signatures.length === 0) throw notVerified("it has no signature");
  const keySet = createLocalJWKSet(keys);
  const payload = base64url.encode(canonicalCard(card));
  for (const signature of signatures) {
    try {
      const { protectedHeader } = await flattenedVerify(
        { ...signature, payload },
        keySet,
        { algorithms: ALGORITHMS },
      );
      return { keyId: protectedHeader?.kid ?? "" };
    } catch (reason) {
      if (
        !(reason instanceof errors.JOSEError || reason instanceof TypeError)
      ) {
        throw reason;
      }
    }
  }
  throw notVerified("none of its signatures is valid for a trusted key");
}

/**
 * Fetches the key set of an agent, for `verifyCard`. The caller must trust the
 * URL.
 *
 * Throws `Code.Unavailable` if there is no key set.
 */
export async function fetchKeySet(
  url: string,
  signal: AbortSignal,
): Promise<JSONWebKeySet> {
  const response = await fetch(url, { redirect: "error", signal });
  const json: unknown = response.ok ? await response.json() : undefined;
  if (isKeySet(json)) return json;
  throw new ConnectError(
    `no key set at ${url}: HTTP ${response.status}`,
    Code.Unavailable,
  );
}

function isKeySet(json: unknown): json is JSONWebKeySet {
  return isObject(json) && Array.isArray(json.keys);
}

function notVerified(problem: string): ConnectError {
  return new ConnectError(
    `the card is not verified: ${problem}`,
    Code.Unauthenticated,
  );
}
