import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  AuditRecordSchema,
  InboxRefusalSchema,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";
import {
  Code,
  DevtoolError,
  quoted,
  type ServerStore,
} from "@devtool/server/store";
import type { QueryConfig } from "pg";
import { keyText } from "./key-text.ts";

/** A task to delete. */
export type TaskDeletion = Parameters<ServerStore["delete"]>[0];

/**
 * The time in milliseconds for which the ids of the messages of a deleted task
 * are kept, at least.
 */
const DELETED_MESSAGE_MS = 24 * 3_600_000;

/**
 * Deletes a task that ends at a sequence, with all that belongs to it, and
 * returns its principal and its context.
 *
 * One statement: the row of the task is locked by the deletion that checks its
 * sequence. An append that comes meanwhile waits, and is refused then; one that
 * was committed before leaves another sequence, and nothing is deleted. Requests
 * in the inbox are refused, and lose what they hold.
 *
 * $1 is the task, $2 its sequence, $3 the audit record, $4 the time, $5 the
 * refusal of requests.
 */
const DELETE = `
  WITH gone AS (
    DELETE FROM task WHERE id = $1 AND sequence = $2 RETURNING id, principal, context_id
  ), other AS (
    SELECT task.id FROM task JOIN gone ON task.principal = gone.principal AND task.context_id = gone.context_id
    WHERE task.id <> gone.id ORDER BY time_ms DESC, task.id DESC LIMIT 1
  ), passed_on AS (
    UPDATE context SET task_id = other.id FROM gone, other
    WHERE context.principal = gone.principal AND context.id = gone.context_id AND context.task_id = gone.id
  ), ended AS (
    DELETE FROM context USING gone
    WHERE context.principal = gone.principal AND context.id = gone.context_id AND context.task_id = gone.id
      AND NOT EXISTS (SELECT FROM other)
  ), session AS (
    DELETE FROM agent_session USING gone
    WHERE agent_session.principal = gone.principal AND agent_session.context_id = gone.context_id
      AND NOT EXISTS (SELECT FROM other)
  ), ids AS (
    DELETE FROM message USING gone WHERE message.task_id = gone.id RETURNING message.principal, message_id
  ), kept AS (
    INSERT INTO deleted_message (principal, message_id, task_id, time_ms)
    SELECT principal, message_id, $1, $4 FROM ids ORDER BY principal, message_id
    ON CONFLICT (principal, message_id) DO UPDATE SET task_id = excluded.task_id, time_ms = excluded.time_ms
  ), events AS (
    DELETE FROM event USING gone WHERE task_id = gone.id
  ), labels AS (
    DELETE FROM label USING gone WHERE task_id = gone.id
  ), configs AS (
    DELETE FROM push_config USING gone WHERE task_id = gone.id
  ), shown AS (
    DELETE FROM audit_shown USING gone WHERE task_id = gone.id
  ), requests AS (
    UPDATE inbox SET request = '', answered_at = coalesce(answered_at, clock_timestamp()),
      refusal = CASE WHEN answered_at IS NULL THEN $5 ELSE refusal END
    FROM gone WHERE task_id = gone.id
  ), tombstone AS (
    INSERT INTO audit_pending (data) SELECT $3 FROM gone
  )
  SELECT principal, context_id FROM gone`;

/** The row of a task that was deleted. */
export interface DeletedRow {
  readonly [column: string]: unknown;
  readonly principal: string;
  readonly context_id: string;
}

/** Creates the statement that deletes a task. Without a row, it did nothing. */
export function deleteStatement(deletion: TaskDeletion): QueryConfig {
  const { taskId, sequence, record } = deletion;
  const refusal = create(InboxRefusalSchema, {
    code: Code.NotFound,
    problem: `task ${JSON.stringify(taskId)} was deleted`,
  });
  return {
    name: "delete-task",
    text: DELETE,
    values: [
      keyText(taskId),
      sequence,
      toBinary(AuditRecordSchema, record),
      timeOf(deletion),
      toBinary(InboxRefusalSchema, refusal),
    ],
  };
}

/** Creates the error of a deletion whose sequence is not that of the log. */
export function notAtSequence({
  taskId,
  sequence,
}: TaskDeletion): DevtoolError {
  return new DevtoolError(
    `task ${quoted(taskId)} does not end at event ${sequence}: it has changed or is gone`,
    Code.Aborted,
    { remedy: "read it again" },
  );
}

/** Returns the event that stands for a message of a deleted task. */
export function deletedMessage(taskId: string, deletedMs: number): TaskEvent {
  const time = timestampFromMs(deletedMs);
  return create(TaskEventSchema, { taskId, time });
}

/** Creates the statement that forgets messages that were deleted long ago. */
export function forgetStatement(deletion: TaskDeletion): QueryConfig {
  return {
    name: "forget-deleted",
    text: "DELETE FROM deleted_message WHERE time_ms < $1",
    values: [timeOf(deletion) - DELETED_MESSAGE_MS],
  };
}

function timeOf({ record: { time } }: TaskDeletion): number {
  return time ? timestampMs(time) : 0;
}
