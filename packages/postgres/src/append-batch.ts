import type { AuditRecord, TaskEvent } from "@devtool/schema";
import {
  assertFollows,
  type EventRow,
  encodeRows,
  type InboxAnswer,
  type TaskAppend,
} from "@devtool/server/store";

/** The maximum size in bytes of a batch, after at least one append. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/**
 * The maximum number of appends of a batch. More of them make a batch slower
 * than they make it larger.
 */
const MAX_BATCH_APPENDS = 256;

/** An append that waits for its commit. */
export interface Append {
  readonly events: readonly [TaskEvent, ...TaskEvent[]];
  readonly rows: readonly EventRow[];
  readonly audit: readonly AuditRecord[];
  readonly fence: bigint;
  /** The answer to an entry of the task's inbox. Default: none. */
  readonly answer: InboxAnswer | undefined;
  readonly committed: PromiseWithResolvers<void>;
}

/**
 * Appends to one task that follow each other. A batch writes all or none of
 * them.
 */
export interface AppendGroup {
  readonly taskId: string;
  readonly fence: bigint;
  readonly appends: Append[];
}

/**
 * Prepares events for the queue. Undefined when there are none. Throws
 * `Code.Aborted` when they are not consecutive events of one task.
 */
export function createAppend({
  events,
  audit = [],
  fence = 0n,
  answer,
}: TaskAppend): Append | undefined {
  const [first, ...rest] = events;
  if (!first) return undefined;
  assertFollows(events);
  const committed = Promise.withResolvers<void>();
  return {
    events: [first, ...rest],
    rows: encodeRows(events),
    audit,
    fence,
    answer,
    committed,
  };
}

/**
 * Removes from a queue the appends of the next batch, grouped by task; the task
 * with the latest append is last.
 *
 * An append that does not follow the one before it of the same task stays in
 * the queue, with all later ones of the task: whether it follows the log shows
 * after this batch.
 */
export function takeBatch(queue: Append[]): AppendGroup[] {
  const groups = new Map<string, AppendGroup>();
  const left: Append[] = [];
  const blocked = new Set<string>();
  let bytes = 0;
  let count = 0;
  for (const append of queue) {
    const { taskId } = append.events[0];
    const group = groups.get(taskId);
    const last = group?.appends.at(-1)?.events.at(-1);
    const follows =
      last?.sequence === append.events[0].sequence - 1n &&
      group?.fence === append.fence;
    const isFull = count >= MAX_BATCH_APPENDS || bytes >= MAX_BATCH_BYTES;
    if (isFull || blocked.has(taskId) || (group && !follows)) {
      blocked.add(taskId);
      left.push(append);
      continue;
    }
    count++;
    bytes += append.rows.reduce((sum, { data }) => sum + data.length, 0);
    groups.delete(taskId);
    groups.set(taskId, {
      taskId,
      fence: append.fence,
      appends: [...(group?.appends ?? []), append],
    });
  }
  queue.splice(0, queue.length, ...left);
  return [...groups.values()];
}
