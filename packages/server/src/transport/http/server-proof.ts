import { createHmac, hkdfSync } from "node:crypto";

/** Size of a challenge, of a proof key and of a proof, in bytes. */
export const PROOF_BYTES = 32;

/**
 * The secrets that a server shares with those who may read its discovery file.
 */
export interface ServerSecrets {
  /** The operator's bearer token. */
  readonly token: string;
  /** 32 random bytes, new at each start of the server. */
  readonly proofKey: Uint8Array;
}

/**
 * Returns the answer of a server to a challenge, as `Readiness.proof` describes
 * it.
 *
 * The proof shows that the server holds the token and is the start that wrote
 * the discovery file, and reveals neither. The proof key is the salt, so that
 * collected proofs cannot be used to try out tokens, and each start gives
 * different ones.
 */
export function serverProof(
  { token, proofKey }: ServerSecrets,
  challenge: Uint8Array,
): Uint8Array {
  const key = hkdfSync(
    "sha256",
    token,
    proofKey,
    "devtool server proof v1",
    PROOF_BYTES,
  );
  return createHmac("sha256", new Uint8Array(key)).update(challenge).digest();
}
