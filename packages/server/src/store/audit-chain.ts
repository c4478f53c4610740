import { hash } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type AuditRecord, AuditRecordSchema } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

const NOTHING = new Uint8Array();

/** What stands before the hash of a record, which is the last of its fields: so the rest is encoded once. */
const HASH_PREFIX = new BinaryWriter()
  .tag(AuditRecordSchema.field.hash.number, WireType.LengthDelimited)
  .uint32(32)
  .finish();

/** A record in its place in the chain. */
export interface ChainedRecord {
  readonly record: AuditRecord;
  /** The record in binary. */
  readonly data: Uint8Array;
}

/** Gives a record its place in the chain: its number, the hash of the one before, and its own. */
export function chainRecord(record: AuditRecord, previous: AuditRecord | undefined): ChainedRecord {
  const number = (previous?.number ?? 0n) + 1n;
  const placed: AuditRecord = { ...record, number, previousHash: previous?.hash ?? NOTHING, hash: NOTHING };
  const hashed = toBinary(AuditRecordSchema, placed);
  const own = sha256(hashed);
  return { record: { ...placed, hash: own }, data: Buffer.concat([hashed, HASH_PREFIX, own]) };
}

/** Reads a record; undefined for bytes that no record was written as. */
export function decodeRecord(data: unknown): AuditRecord | undefined {
  if (!(data instanceof Uint8Array)) return undefined;
  try {
    const record = fromBinary(AuditRecordSchema, data);
    return isEqual(toBinary(AuditRecordSchema, record), data) ? record : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a row of the audit log, which has the number of its record as text: it may be larger than a number is exact.
 * Throws `Code.DataLoss` for a row that was not written so.
 */
export function decodeAuditRow({ number, data }: Readonly<Record<string, unknown>>): AuditRecord {
  const record = decodeRecord(data);
  if (record && String(record.number) === number) return record;
  throw new DevtoolError("the audit log holds a row that is not a record", Code.DataLoss, {
    remedy: "restore the file from a backup",
  });
}

/** Says what is wrong with a record in its place; undefined when nothing is. */
function chainFault(record: AuditRecord, previous: AuditRecord | undefined): string | undefined {
  const number = (previous?.number ?? 0n) + 1n;
  if (record.number !== number) return `record ${number} is missing: the next one is ${record.number}`;
  if (!isEqual(record.previousHash, previous?.hash ?? NOTHING))
    return `record ${number} does not follow the one before`;
  if (!isEqual(record.hash, hashOf({ ...record, hash: NOTHING }))) return `record ${number} was changed`;
  return undefined;
}

function hashOf(record: AuditRecord): Uint8Array {
  return sha256(toBinary(AuditRecordSchema, record));
}

function sha256(data: Uint8Array): Uint8Array {
  return hash("sha256", data, "buffer");
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

/** What a check of the audit log found. */
export interface AuditVerdict {
  /** So many records were in order. */
  readonly count: bigint;
  /** The hash of the last one, in hex: who notes it can tell later whether anything before it was cut off. */
  readonly head: string;
  /** What is wrong with the record after those; undefined when nothing is. */
  readonly fault: string | undefined;
}

/** Checks records from the first one on: none missing, none changed, none moved (S13). */
export async function verifyAudit(records: AsyncIterable<AuditRecord>): Promise<AuditVerdict> {
  let last: AuditRecord | undefined;
  for await (const record of records) {
    const fault = chainFault(record, last);
    if (fault !== undefined) return verdict(last, fault);
    last = record;
  }
  return verdict(last, undefined);
}

function verdict(last: AuditRecord | undefined, fault: string | undefined): AuditVerdict {
  return { count: last?.number ?? 0n, head: Buffer.from(last?.hash ?? NOTHING).toString("hex"), fault };
}
