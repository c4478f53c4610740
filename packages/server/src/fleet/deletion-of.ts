import { hash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { shorten } from "@devtool/internal/cut-text";
import {
  AuditAction,
  AuditRecordSchema,
  isTerminal,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import { notAtSequence } from "../store/deleted-task.ts";
import type { TaskDeletion, TaskStore } from "../store/task-store.ts";

/** Who deletes a task. */
export interface TaskDeleter {
  /** The principal of the caller; empty for the server itself. */
  readonly principal: string;
  /** What the caller's program calls itself; empty for nothing. */
  readonly clientLabel?: string;
  /** The setting by which the server deletes the task. Default: none. */
  readonly rule?: string;
}

/**
 * Describes the deletion of a task for its store, with the audit record. Throws
 * `Code.FailedPrecondition` for a task that has not ended, and `Code.Aborted`
 * for one that has changed since.
 */
export async function deletionOf(
  store: TaskStore,
  task: Pick<Task, "id" | "principal" | "sequence" | "state">,
  { principal: deleter, clientLabel = "", rule = "" }: TaskDeleter,
  now: Date,
): Promise<TaskDeletion> {
  const { id: taskId, principal, sequence, state } = task;
  if (!isTerminal(state)) {
    const name = TaskState[state].toLowerCase().replaceAll("_", "-");
    throw new DevtoolError(
      `task ${quoted(taskId)} is ${name}`,
      Code.FailedPrecondition,
      {
        remedy: "cancel it first",
        details: { field: "task_id", value: shorten(taskId) },
      },
    );
  }
  let last: TaskEvent | undefined;
  for await (const event of store.readEvents(taskId, sequence - 1n)) {
    if (event.sequence > sequence) throw notAtSequence({ taskId, sequence });
    last = event;
  }
  const record = create(AuditRecordSchema, {
    action: AuditAction.TASK_DELETED,
    time: timestampFromDate(now),
    taskId,
    principal,
    sequence,
    digest: last
      ? hash("sha256", toBinary(TaskEventSchema, last), "buffer")
      : new Uint8Array(),
    actor: deleter === principal ? "" : deleter,
    clientLabel,
    rule,
  });
  return { taskId, sequence, record };
}
