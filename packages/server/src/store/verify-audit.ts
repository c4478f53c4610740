import { timestampDate } from "@bufbuild/protobuf/wkt";
import { AuditAction, type AuditRecord } from "@devtool/schema";
import type { JSONWebKeySet } from "jose";
import { quoted } from "../errors.ts";
import { chainFault, NO_HASH, shownFault } from "./audit-chain.ts";
import { type CheckTombstone, tombstoneCheck } from "./tombstone.ts";

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
  /** Whether one of the given keys signed the record of its deletion. */
  readonly isVerified: boolean;
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
 * `head` is the hash of an earlier verdict, whose record must still be there.
 * With `keys`, the public keys of the servers that were kept elsewhere, each
 * deletion must be signed with one of them, but those up to `head`.
 *
 * ```ts
 * const { count, head, fault } = await verifyAudit(store.readAudit(0n));
 * ```
 */
export async function verifyAudit(
  records: AsyncIterable<AuditRecord>,
  { head, keys }: { head?: string; keys?: JSONWebKeySet } = {},
): Promise<AuditVerdict> {
  const check = keys && (await tombstoneCheck(keys));
  const deletions = new Deletions(check);
  let last: AuditRecord | undefined;
  let fault: string | undefined;
  let headSeen = head === undefined;
  for await (const record of records) {
    fault = chainFault(record, last) ?? shownFault(record);
    if (fault !== undefined) break;
    last = record;
    await deletions.note(record);
    if (head === undefined || base64(record.hash) !== head) continue;
    headSeen = true;
    deletions.trust();
  }
  const { deleted } = deletions;
  const end = { count: last?.number ?? 0n, head: base64(last?.hash) };
  if (fault !== undefined) return { ...end, fault, deleted };
  if (!headSeen) {
    const cut = `no record has the hash "${head}": the end of the log was cut off`;
    return { ...end, fault: cut, deleted };
  }
  const wrong = deletions.wrong ?? deletions.unexplained;
  if (!wrong) return { ...end, fault, deleted };
  return {
    count: wrong.record.number - 1n,
    head: base64(wrong.record.previousHash),
    fault: wrong.fault,
    deleted,
  };
}

function base64(bytes: Uint8Array = NO_HASH): string {
  return Buffer.from(bytes).toString("base64");
}

/** A record that is valid in the chain, and what is wrong all the same. */
interface WrongRecord {
  readonly record: AuditRecord;
  readonly fault: string;
}

/** The records of a task whose texts are missing. */
interface Missing {
  readonly first: AuditRecord;
  readonly count: number;
  /** The largest sequence of an event that they are for. */
  readonly until: bigint;
}

/** The records whose texts are missing, and the deletions that explain it. */
class Deletions {
  readonly deleted: DeletedTask[] = [];
  readonly #check: CheckTombstone | undefined;
  readonly #missing = new Map<string, Missing>();
  #wrong: WrongRecord | undefined;

  constructor(check: CheckTombstone | undefined) {
    this.#check = check;
  }

  /** Takes the next record of the chain. */
  async note(record: AuditRecord): Promise<void> {
    const { action, taskId, principal, actor, rule, time, sequence } = record;
    const missing = this.#missing.get(taskId);
    if (action === AuditAction.TASK_DELETED) {
      const problem = await this.#check?.(record);
      if (problem !== undefined) {
        const fault = `record ${record.number}, which says that task ${quoted(taskId)} was deleted, ${problem}`;
        this.#wrong ??= { record, fault };
      }
      // An older deletion, put there again, does not explain what came later.
      if (missing && missing.until <= sequence) this.#missing.delete(taskId);
      this.deleted.push({
        taskId,
        by: rule || actor || principal,
        time: time && timestampDate(time),
        texts: missing?.count ?? 0,
        isVerified: this.#check !== undefined && problem === undefined,
      });
    } else if (record.shown === "" && record.shownDigest.length > 0) {
      const { first = record, count = 0, until } = missing ?? {};
      this.#missing.set(taskId, {
        first,
        count: count + 1,
        until: until !== undefined && until > sequence ? until : sequence,
      });
    }
  }

  /** Takes the deletions until now as checked. */
  trust(): void {
    this.#wrong = undefined;
  }

  /** The first deletion whose signature is wrong. */
  get wrong(): WrongRecord | undefined {
    return this.#wrong;
  }

  /** The first record whose text is missing without a deletion after it. */
  get unexplained(): WrongRecord | undefined {
    // Of each task the first one, in the order of the chain.
    const [missing] = this.#missing.values();
    return (
      missing && {
        record: missing.first,
        fault: `what record ${missing.first.number} shows is missing, and no record says that its task was deleted: it was tampered with`,
      }
    );
  }
}
