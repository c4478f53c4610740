import { hash } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type AuditRecord, AuditRecordSchema } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

const NO_HASH = new Uint8Array();

/** An audit record with its number and hashes. */
export interface ChainedRecord {
  readonly record: AuditRecord;
  /** The encoded record. */
  readonly data: Uint8Array;
}

/**
 * Appends a record to the chain: sets its number, the hash of the previous
 * record and its own hash.
 *
 * @param previous the last record of the chain; undefined for the first one
 */
export function chainRecord(
  record: AuditRecord,
  previous: AuditRecord | undefined,
): ChainedRecord {
  const number = (previous?.number ?? 0n) + 1n;
  const placed: AuditRecord = {
    ...record,
    number,
    previousHash: previous?.hash ?? NO_HASH,
    hash: NO_HASH,
  };
  const chained: AuditRecord = {
    ...placed,
    hash: hash("sha256", toBinary(AuditRecordSchema, placed), "buffer"),
  };
  return { record: chained, data: toBinary(AuditRecordSchema, chained) };
}

/**
 * Decodes a record. Undefined for bytes that are not exactly the encoding of a
 * record.
 */
export function decodeRecord(data: unknown): AuditRecord | undefined {
  if (!(data instanceof Uint8Array)) return undefined;
  try {
    const record = fromBinary(AuditRecordSchema, data);
    return Buffer.compare(toBinary(AuditRecordSchema, record), data) === 0
      ? record
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Decodes a row of the audit log. Its column `number` is a text, because a
 * JavaScript number is not exact beyond 2^53. Throws `Code.DataLoss` for a row
 * that is damaged.
 */
export function decodeAuditRow({
  number,
  data,
}: Readonly<Record<string, unknown>>): AuditRecord {
  const record = decodeRecord(data);
  if (record && String(record.number) === number) return record;
  throw new DevtoolError(
    "the audit log holds a row that is not a record",
    Code.DataLoss,
    {
      remedy: "restore the store from a backup",
    },
  );
}

/**
 * Returns what is wrong with a record at its place in the chain; undefined when
 * it is valid.
 */
function chainFault(
  record: AuditRecord,
  previous: AuditRecord | undefined,
): string | undefined {
  const number = (previous?.number ?? 0n) + 1n;
  if (record.number !== number) {
    return `record ${number} is missing: the next one is ${record.number}`;
  }
  if (Buffer.compare(record.previousHash, previous?.hash ?? NO_HASH) !== 0) {
    return `record ${number} does not follow the one before`;
  }
  const hashed = hash(
    "sha256",
    toBinary(AuditRecordSchema, { ...record, hash: NO_HASH }),
    "buffer",
  );
  if (Buffer.compare(record.hash, hashed) !== 0) {
    return `record ${number} was changed`;
  }
  return undefined;
}

/** The result of verifying the audit log. */
export interface AuditVerdict {
  /** The number of valid records before the end or the first fault. */
  readonly count: bigint;
  /**
   * The hash of the last valid record, in base64 as in the record's JSON. Empty
   * without a record. Keep it elsewhere to detect later that records up to it
   * were removed or changed.
   */
  readonly head: string;
  /**
   * What is wrong with the record after the valid ones; undefined when all are
   * valid.
   */
  readonly fault: string | undefined;
}

/**
 * Verifies the audit log from its first record: no record is missing, changed
 * or moved (S13). Stops at the first fault, and throws nothing but what
 * `records` throws.
 *
 * ```ts
 * const { count, head, fault } = await verifyAudit(store.readAudit(0n));
 * ```
 */
export async function verifyAudit(
  records: AsyncIterable<AuditRecord>,
): Promise<AuditVerdict> {
  let last: AuditRecord | undefined;
  let fault: string | undefined;
  for await (const record of records) {
    fault = chainFault(record, last);
    if (fault !== undefined) break;
    last = record;
  }
  return {
    count: last?.number ?? 0n,
    head: Buffer.from(last?.hash ?? NO_HASH).toString("base64"),
    fault,
  };
}
