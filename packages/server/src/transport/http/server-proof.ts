import { createHmac, hkdfSync } from "node:crypto";

/** The size of a challenge, of a proof key and of a proof, in bytes. */
export const PROOF_BYTES = 32;

/** What only a server and those who may read its discovery file know. */
export interface ServerSecrets {
  /** The operator's bearer token. */
  readonly token: string;
  /** The secret of this start of the server: 32 random bytes. */
  readonly proofKey: Uint8Array;
}

/**
 * The answer of a server to a challenge, as `Readiness.proof` describes it: it shows that the server holds the token,
 * and that it is the start that wrote the discovery file, without saying anything about either. The proof key is the salt,
 * so that nobody who collects proofs can try tokens against them, and no other start gives the same answer.
 */
export function serverProof({ token, proofKey }: ServerSecrets, challenge: Uint8Array): Uint8Array {
  const key = hkdfSync("sha256", token, proofKey, "devtool server proof v1", PROOF_BYTES);
  return createHmac("sha256", new Uint8Array(key)).update(challenge).digest();
}
