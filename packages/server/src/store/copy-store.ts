import { createHash, type Hash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import {
  type AuditRecord,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import type { ServerStore } from "./task-store.ts";
import { type AuditVerdict, verifyAudit } from "./verify-audit.ts";

/** The maximum number of tasks, events or audit records to hold at a time. */
const PAGE = 256;

/** The size in bytes at which events are appended, after at least one event. */
const PAGE_BYTES = 1024 * 1024;

/** The contents of a copy of a store. */
export interface StoreCopy {
  /** The number of tasks that were copied. */
  readonly tasks: number;

  /** The number of events of all tasks. */
  readonly events: number;

  /** The number of push configs of all tasks. */
  readonly pushConfigs: number;

  /**
   * The audit log of both stores: it has the same records, numbers and hashes
   * in each.
   */
  readonly audit: AuditVerdict;
}

/**
 * Copies all tasks, push configs and audit records of a store into an empty
 * one, reads them again and compares them.
 *
 * Rejects with `Code.FailedPrecondition` when the target is not empty, or when
 * the source changes meanwhile, with `Code.DataLoss` when the audit log of the
 * source is damaged, or when the copy differs, and with the signal's reason.
 * The signal is read between tasks and between pages of audit records. A copy
 * that failed has a part of the source and must be removed.
 */
export async function copyStore(
  from: ServerStore,
  to: ServerStore,
  signal: AbortSignal,
): Promise<StoreCopy> {
  await assertEmpty(to);
  const audit = await verifyAudit(from.readAudit(0n));
  if (audit.fault !== undefined) {
    throw new DevtoolError(
      `the audit log of the source is damaged: ${audit.fault}`,
      Code.DataLoss,
      {
        remedy: "restore the source from a backup",
      },
    );
  }
  let events = 0;
  let pushConfigs = 0;
  const tasks = await lastEvents(from);
  // The oldest first, because the last task that is appended becomes the latest
  // of its context.
  for (const { taskId } of tasks.toReversed()) {
    signal.throwIfAborted();
    events += await copyEvents(from, to, taskId);
    const subscriptions = await from.pushConfigs.list(taskId);
    for (const subscription of subscriptions) {
      await to.pushConfigs.put(subscription);
    }
    pushConfigs += subscriptions.length;
  }
  await copyAudit(from, to, signal);
  await assertUnchanged(from, tasks, audit);
  const copied = await verifyAudit(to.readAudit(0n));
  if (
    copied.fault !== undefined ||
    copied.count !== audit.count ||
    copied.head !== audit.head
  ) {
    throw new DevtoolError("the audit log differs in the copy", Code.DataLoss, {
      remedy: "remove the copy",
    });
  }
  return { tasks: tasks.length, events, pushConfigs, audit };
}

async function assertEmpty(store: ServerStore): Promise<void> {
  const { tasks } = await store.list({ limit: 1 });
  const records = store.readAudit(0n)[Symbol.asyncIterator]();
  const isEmpty = tasks.length === 0 && (await records.next()).done === true;
  await records.return?.();
  if (isEmpty) return;
  throw new DevtoolError(
    "the target of the copy has tasks already",
    Code.FailedPrecondition,
    {
      remedy: "choose an empty directory or schema",
    },
  );
}

/** Lists the last event of each task, the latest first. */
async function lastEvents(
  store: ServerStore,
): Promise<readonly Pick<TaskEvent, "taskId" | "sequence">[]> {
  const tasks: Pick<TaskEvent, "taskId" | "sequence">[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: PAGE, cursor });
    tasks.push(
      ...page.tasks.map(({ last: { taskId, sequence } }) => ({
        taskId,
        sequence,
      })),
    );
    cursor = page.cursor;
  } while (cursor !== undefined);
  return tasks;
}

/**
 * Copies the events of a task, compares them with what the target has then, and
 * returns how many there are.
 */
async function copyEvents(
  from: ServerStore,
  to: ServerStore,
  taskId: string,
): Promise<number> {
  const copied = createHash("sha256");
  let page: TaskEvent[] = [];
  let bytes = 0;
  let count = 0;
  for await (const event of from.readEvents(taskId, 0n)) {
    bytes += addEvent(copied, event);
    page.push(event);
    count++;
    if (page.length < PAGE && bytes < PAGE_BYTES) continue;
    await to.append({ events: page });
    page = [];
    bytes = 0;
  }
  await to.append({ events: page });
  const stored = createHash("sha256");
  for await (const event of to.readEvents(taskId, 0n)) addEvent(stored, event);
  if (copied.digest("hex") !== stored.digest("hex")) {
    throw new DevtoolError(
      `task ${quoted(taskId)} differs in the copy`,
      Code.DataLoss,
      { remedy: "remove the copy" },
    );
  }
  return count;
}

/** Adds an event to a digest, and returns its encoded size in bytes. */
function addEvent(digest: Hash, event: TaskEvent): number {
  const data = toBinary(TaskEventSchema, event);
  // The size separates one event from the next.
  digest.update(`${data.length}:`).update(data);
  return data.length;
}

/**
 * Copies the audit log. The target chains the records in the same order, so
 * they keep their numbers and hashes.
 */
async function copyAudit(
  from: ServerStore,
  to: ServerStore,
  signal: AbortSignal,
): Promise<void> {
  let page: AuditRecord[] = [];
  let bytes = 0;
  for await (const record of from.readAudit(0n)) {
    page.push(record);
    bytes += record.shown.length;
    if (page.length < PAGE && bytes < PAGE_BYTES) continue;
    signal.throwIfAborted();
    await to.append({ events: [], audit: page });
    page = [];
    bytes = 0;
  }
  await to.append({ events: [], audit: page });
}

async function assertUnchanged(
  from: ServerStore,
  tasks: readonly Pick<TaskEvent, "taskId" | "sequence">[],
  { head }: AuditVerdict,
): Promise<void> {
  const now = await lastEvents(from);
  const isSame =
    now.length === tasks.length &&
    now.every(({ sequence }, at) => sequence === tasks[at]?.sequence);
  if (isSame && (await verifyAudit(from.readAudit(0n))).head === head) return;
  throw new DevtoolError(
    "the source has changed while it was copied",
    Code.FailedPrecondition,
    {
      remedy: "stop the servers that use it, remove the copy, and copy again",
    },
  );
}
