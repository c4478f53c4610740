import { toBinary } from "@bufbuild/protobuf";
import { type AuditRecord, AuditRecordSchema } from "@devtool/schema";
import type { JSONWebKeySet, KeyObject } from "jose";

/** A key that signs. */
interface TombstoneKey {
  /** The id of the key in the list of public keys. */
  readonly keyId: string;
  /** The JWS algorithm. */
  readonly algorithm: string;
  readonly privateKey: KeyObject;
}

/** Keeps these signatures from being taken for others of the same keys. */
const TYPE = "devtool-audit+jws";

/** Signs the audit record of a deletion, which has no place in the chain yet. */
export async function signTombstone(
  record: AuditRecord,
  { keyId, algorithm, privateKey }: TombstoneKey,
): Promise<AuditRecord> {
  const { CompactSign } = await import("jose");
  const jws = await new CompactSign(payloadOf(record))
    .setProtectedHeader({ alg: algorithm, kid: keyId, typ: TYPE })
    .sign(privateKey);
  const [header = "", , signature = ""] = jws.split(".");
  return { ...record, signature: `${header}..${signature}` };
}

/** Returns what is wrong with the signature of a deletion, if anything is. */
export type CheckTombstone = (
  record: AuditRecord,
) => Promise<string | undefined>;

/** Creates the check of signatures with public keys. */
export async function tombstoneCheck(
  keys: JSONWebKeySet,
): Promise<CheckTombstone> {
  const { createLocalJWKSet, errors, flattenedVerify } = await import("jose");
  const keySet = createLocalJWKSet(keys);
  return async (record) => {
    if (record.signature === "") return "has no signature";
    const [header = "", , signature = ""] = record.signature.split(".");
    const payload = Buffer.from(payloadOf(record)).toString("base64url");
    try {
      const { protectedHeader } = await flattenedVerify(
        { protected: header, payload, signature },
        keySet,
        { algorithms: ["ES256"] },
      );
      return protectedHeader?.typ === TYPE
        ? undefined
        : "has a signature that is not one of a deletion";
    } catch (reason) {
      if (reason instanceof errors.JWKSNoMatchingKey) {
        return "is signed with a key that is not one of the given ones";
      }
      return "has a signature that is not valid";
    }
  };
}

function payloadOf(record: AuditRecord): Uint8Array {
  return toBinary(AuditRecordSchema, {
    ...record,
    number: 0n,
    previousHash: new Uint8Array(),
    hash: new Uint8Array(),
    signature: "",
  });
}
