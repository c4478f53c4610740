import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { type AuditRecord, AuditRecordSchema } from "@devtool/schema";

const NOTHING = new Uint8Array();

/** The record with its place in the chain: its number, the hash of the one before, and its own. */
export function chainRecord(record: AuditRecord, previous: AuditRecord | undefined): AuditRecord {
  const number = (previous?.number ?? 0n) + 1n;
  const placed: AuditRecord = { ...record, number, previousHash: previous?.hash ?? NOTHING, hash: NOTHING };
  return { ...placed, hash: hashOf(placed) };
}

/** Says what is wrong with a record in its place; undefined when nothing is. */
export function chainFault(record: AuditRecord, previous: AuditRecord | undefined): string | undefined {
  const number = (previous?.number ?? 0n) + 1n;
  if (record.number !== number) return `record ${number} is missing: the next one is ${record.number}`;
  if (!isEqual(record.previousHash, previous?.hash ?? NOTHING))
    return `record ${number} does not follow the one before`;
  if (!isEqual(record.hash, hashOf({ ...record, hash: NOTHING }))) return `record ${number} was changed`;
  return undefined;
}

function hashOf(record: AuditRecord): Uint8Array {
  return createHash("sha256").update(toBinary(AuditRecordSchema, record)).digest();
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
