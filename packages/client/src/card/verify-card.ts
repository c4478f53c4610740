import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { canonicalCard } from "@devtool/schema/a2a-v1";
import {
  base64url,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  flattenedVerify,
  type JSONWebKeySet,
} from "jose";

/** Whose signature a card must bear. */
export interface VerifyCardOptions {
  /** The keys that are trusted, as a key set. What a card says about where its keys are is never followed. */
  readonly keys: JSONWebKeySet;
}

/** A card that somebody signed whose key is trusted. */
export interface VerifiedCard {
  /** The key that signed it. */
  readonly keyId: string;
}

/** With a public key each: with a shared secret whoever checks a signature could make it. */
const ALGORITHMS = ["ES256", "ES384", "ES512", "EdDSA", "Ed25519", "RS256", "PS256"];

/** No card needs more; each costs a check. */
const MAX_SIGNATURES = 16;

/**
 * Checks that a card of A2A 1.0 was signed with a trusted key, over the whole of what it says now (section 8.4). One
 * signature that is right is enough. Throws a `ConnectError` with `Code.Unauthenticated` when none is.
 */
export async function verifyCard(card: JsonObject, { keys }: VerifyCardOptions): Promise<VerifiedCard> {
  const signatures = signaturesOf(card);
  if (signatures.length === 0) throw refused("it bears no signature");
  const keySet = createLocalJWKSet(keys);
  const payload = base64url.encode(canonicalCard(card));
  for (const signature of signatures) {
    const keyId = await keyIdOf({ ...signature, payload }, keySet);
    if (keyId !== undefined) return { keyId };
  }
  throw refused("no signature is right for it with a key that is trusted");
}

/**
 * Fetches the key set of an agent, for `verifyCard`: from a URL that the caller trusts. Throws a `ConnectError` with
 * `Code.Unavailable` when there is none.
 */
export async function fetchKeySet(url: string, signal: AbortSignal): Promise<JSONWebKeySet> {
  const response = await fetch(url, { redirect: "error", signal });
  const found: unknown = response.ok ? await response.json() : undefined;
  if (isKeySet(found)) return found;
  throw new ConnectError(`there is no key set at ${url}: HTTP ${response.status}`, Code.Unavailable);
}

async function keyIdOf(
  jws: FlattenedJWSInput,
  keySet: ReturnType<typeof createLocalJWKSet>,
): Promise<string | undefined> {
  try {
    const { protectedHeader } = await flattenedVerify(jws, keySet, { algorithms: ALGORITHMS });
    return protectedHeader?.kid ?? "";
  } catch (reason) {
    if (reason instanceof errors.JOSEError || reason instanceof TypeError) return undefined;
    throw reason;
  }
}

function signaturesOf({ signatures = [] }: JsonObject): { readonly protected: string; readonly signature: string }[] {
  if (!Array.isArray(signatures)) return [];
  return signatures.slice(0, MAX_SIGNATURES).flatMap((each) => {
    const { protected: header, signature } = objectOf(each);
    return typeof header === "string" && typeof signature === "string" ? [{ protected: header, signature }] : [];
  });
}

function objectOf(value: JsonValue): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function isKeySet(json: unknown): json is JSONWebKeySet {
  return typeof json === "object" && json !== null && "keys" in json && Array.isArray(json.keys);
}

function refused(problem: string): ConnectError {
  return new ConnectError(`the card is not verified: ${problem}`, Code.Unauthenticated);
}
