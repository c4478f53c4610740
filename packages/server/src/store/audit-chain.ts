import { hash } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type AuditRecord, AuditRecordSchema } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** The hash before the first record. */
export const NO_HASH: Uint8Array<ArrayBuffer> = new Uint8Array();

/** An audit record with its number and hashes. */
export interface ChainedRecord {
  readonly record: AuditRecord;
  /** The encoded record, without `shown`. */
  readonly data: Uint8Array;
}

/** What a record shows, which a store keeps beside the chain. */
export interface ShownText {
  readonly taskId: string;
  /** Identifies the text among those of the task. */
  readonly digest: Uint8Array;
  readonly data: Uint8Array;
}

/**
 * Separates a record from what it shows: the record has the digest in place of
 * the text. Undefined in place of a text for a record that shows nothing.
 */
export function detachShown(record: AuditRecord): {
  readonly record: AuditRecord;
  readonly text: ShownText | undefined;
} {
  const { taskId, shown } = record;
  if (shown === "") return { record, text: undefined };
  const data = Buffer.from(shown);
  const digest = hash("sha256", data, "buffer");
  return {
    record: { ...record, shown: "", shownDigest: digest },
    text: { taskId, digest, data },
  };
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
  const { record: detached, text } = detachShown(record);
  const placed: AuditRecord = {
    ...detached,
    number: (previous?.number ?? 0n) + 1n,
    previousHash: previous?.hash ?? NO_HASH,
    hash: NO_HASH,
  };
  const chained: AuditRecord = { ...placed, hash: digestOf(placed) };
  const data = toBinary(AuditRecordSchema, chained);
  return {
    record: text ? { ...chained, shown: record.shown } : chained,
    data,
  };
}

/** Returns the hash of a record, which does not cover `shown`. */
function hashOf(record: AuditRecord): Uint8Array {
  return hashWithShown({ ...record, shown: "" });
}

/** Returns the hash that a record had while texts were in the chain. */
function hashWithShown(record: AuditRecord): Uint8Array {
  return digestOf({ ...record, hash: NO_HASH });
}

function digestOf(record: AuditRecord): Uint8Array {
  return hash("sha256", toBinary(AuditRecordSchema, record), "buffer");
}

/**
 * Creates a function that takes the records of a log whose hashes cover `shown`,
 * in order, and chains them again without.
 *
 * It returns undefined from the first record on that was not valid before: such
 * a row must stay as it is, so that the log does not become valid.
 */
export function createRechain(): (
  record: AuditRecord,
) => ChainedRecord | undefined {
  let before: AuditRecord | undefined;
  let after: AuditRecord | undefined;
  let isValid = true;
  return (record) => {
    isValid &&= chainFault(record, before, hashWithShown) === undefined;
    if (!isValid) return undefined;
    before = record;
    const chained = chainRecord(record, after);
    after = chained.record;
    return chained;
  };
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
export function chainFault(
  record: AuditRecord,
  previous: AuditRecord | undefined,
  hashed: (record: AuditRecord) => Uint8Array = hashOf,
): string | undefined {
  const number = (previous?.number ?? 0n) + 1n;
  if (record.number !== number) {
    return `record ${number} is missing: the next one is ${record.number}`;
  }
  if (Buffer.compare(record.previousHash, previous?.hash ?? NO_HASH) !== 0) {
    return `record ${number} does not follow the one before`;
  }
  if (Buffer.compare(record.hash, hashed(record)) !== 0) {
    return `record ${number} was changed`;
  }
  return undefined;
}

/**
 * Returns what is wrong with the text of a record; undefined when it is that of
 * its digest, or missing.
 */
export function shownFault(record: AuditRecord): string | undefined {
  const { text } = detachShown(record);
  return !text || Buffer.compare(text.digest, record.shownDigest) === 0
    ? undefined
    : `what record ${record.number} shows was changed`;
}
