import type { DatabaseSync, StatementSync } from "node:sqlite";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { DELETED_MESSAGE_MS } from "./deleted-task.ts";
import type { TaskDeletion } from "./task-store.ts";

/** Removes a task from the tables; false when it has another last event. */
export type DeleteRows = (deletion: TaskDeletion) => boolean;

/**
 * Prepares the removal of tasks from a database with the tables of
 * `TASK_SCHEMA`. It must be called in a transaction.
 */
export function prepareDeletion(database: DatabaseSync): DeleteRows {
  const prepare = (sql: string): StatementSync => database.prepare(sql);
  const task = prepare(
    "DELETE FROM task WHERE id = ? AND sequence = ? RETURNING principal, context_id",
  );
  const latest = prepare(
    `UPDATE context SET task_id = other.id FROM
       (SELECT id FROM task WHERE principal = :principal AND context_id = :context
        ORDER BY time_ms DESC, id DESC LIMIT 1) AS other
     WHERE context.principal = :principal AND context.id = :context AND task_id = :task`,
  );
  const context = prepare(
    "DELETE FROM context WHERE principal = ? AND id = ? AND task_id = ?",
  );
  const keep = prepare(
    `INSERT OR REPLACE INTO deleted_message (principal, message_id, task_id, time_ms)
     SELECT principal, message_id, task_id, ? FROM message WHERE task_id = ?`,
  );
  const forget = prepare("DELETE FROM deleted_message WHERE time_ms < ?");
  const others = [
    "message",
    "event",
    "label",
    "push_config",
    "audit_shown",
  ].map((table) => prepare(`DELETE FROM ${table} WHERE task_id = ?`));
  return ({ taskId, sequence, record: { time } }) => {
    const found = task.get(taskId, sequence);
    if (!found) return false;
    const [principal, contextId] = [found.principal, found.context_id].map(
      String,
    );
    if (principal === undefined || contextId === undefined) return false;
    latest.run({ principal, context: contextId, task: taskId });
    context.run(principal, contextId, taskId);
    const timeMs = time ? timestampMs(time) : 0;
    keep.run(timeMs, taskId);
    forget.run(timeMs - DELETED_MESSAGE_MS);
    for (const statement of others) statement.run(taskId);
    return true;
  };
}
