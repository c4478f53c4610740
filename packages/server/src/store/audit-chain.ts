import { hash } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

const NO_HASH = new Uint8Array();

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
  const { record: detached } = detachShown(record);
  const placed: AuditRecord = {
    ...detached,
    number: (previous?.number ?? 0n) + 1n,
    previousHash: previous?.hash ?? NO_HASH,
  };
  const chained: AuditRecord = { ...placed, hash: hashOf(placed) };
  const data = toBinary(AuditRecordSchema, chained);
  return { record: { ...chained, shown: record.shown }, data };
}

/** Returns the hash of a record, which does not cover `shown`. */
function hashOf(record: AuditRecord): Uint8Array {
  return hashWithShown({ ...record, shown: "" });
}

/** Returns the hash that a record had while texts were in the chain. */
function hashWithShown(record: AuditRecord): Uint8Array {
  const hashed = { ...record, hash: NO_HASH };
  return hash("sha256", toBinary(AuditRecordSchema, hashed), "buffer");
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
function chainFault(
  record: AuditRecord,
  previous: AuditRecord | undefined,
  hashed = hashOf,
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
function shownFault(record: AuditRecord): string | undefined {
  const { text } = detachShown(record);
  return !text || Buffer.compare(text.digest, record.shownDigest) === 0
    ? undefined
    : `what record ${record.number} shows was changed`;
}

/** A deleted task, as the audit log has it. */
export interface DeletedTask {
  readonly taskId: string;
  /**
   * The principal that deleted it, or the server's setting by which it was
   * deleted.
   */
  readonly by: string;
  readonly time: Date | undefined;
  /** The number of records whose text went with it. */
  readonly texts: number;
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
  /** The tasks whose deletion explains that texts are missing. */
  readonly deleted: readonly DeletedTask[];
}

/**
 * Verifies the audit log from its first record: no record is missing, changed
 * or moved, and no text is missing but those of deleted tasks (S13). Stops at
 * the first fault, and throws nothing but what `records` throws.
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
  const texts = new MissingTexts();
  for await (const record of records) {
    fault = chainFault(record, last) ?? shownFault(record);
    if (fault !== undefined) break;
    last = record;
    texts.note(record);
  }
  const unexplained = fault === undefined ? texts.unexplained : undefined;
  return {
    count: unexplained ? unexplained.number - 1n : (last?.number ?? 0n),
    head: Buffer.from(
      (unexplained ? unexplained.previousHash : last?.hash) ?? NO_HASH,
    ).toString("base64"),
    fault: unexplained
      ? `what record ${unexplained.number} shows is missing, and no record says that its task was deleted: it was tampered with`
      : fault,
    deleted: texts.deleted,
  };
}

/** The records whose texts are missing, and the deletions that explain it. */
class MissingTexts {
  readonly deleted: DeletedTask[] = [];
  /** By task: the first such record that no deletion explains, and how many. */
  readonly #missing = new Map<string, { first: AuditRecord; count: number }>();

  /** Takes the next record of the chain. */
  note(record: AuditRecord): void {
    const { action, taskId, principal, actor, rule, time } = record;
    const missing = this.#missing.get(taskId);
    if (action === AuditAction.TASK_DELETED) {
      this.#missing.delete(taskId);
      this.deleted.push({
        taskId,
        by: rule || actor || principal,
        time: time && timestampDate(time),
        texts: missing?.count ?? 0,
      });
    } else if (record.shown === "" && record.shownDigest.length > 0) {
      const { first = record, count = 0 } = missing ?? {};
      this.#missing.set(taskId, { first, count: count + 1 });
    }
  }

  /** The first record whose text is missing without a deletion after it. */
  get unexplained(): AuditRecord | undefined {
    // Of each task the first one, in the order of the chain.
    const [first] = this.#missing.values();
    return first?.first;
  }
}
