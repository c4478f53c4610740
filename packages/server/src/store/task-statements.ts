import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { TaskLabel } from "./task-store.ts";

/** The prepared statements of a task store. */
export interface TaskStatements {
  readonly begin: StatementSync;
  readonly commit: StatementSync;
  readonly head: StatementSync;
  readonly putTask: StatementSync;
  /**
   * Updates a task that stays in its state. Leaves the index of states alone,
   * which saves one of five pages.
   */
  readonly advanceTask: StatementSync;
  readonly putLabel: StatementSync;
  readonly renameTask: StatementSync;
  readonly putTitleKey: StatementSync;
  readonly putLatest: StatementSync;
  readonly findLatest: StatementSync;
  readonly putEvents: StatementSync;
  readonly putMessage: StatementSync;
  readonly read: StatementSync;
  readonly putHead: StatementSync;
  readonly readHead: StatementSync;
  readonly readSizes: StatementSync;
  readonly findMessage: StatementSync;
  readonly findDeleted: StatementSync;
  /** Moves the log of the database into its file, and empties it. */
  readonly truncateLog: StatementSync;
  readonly putAudit: StatementSync;
  readonly putShown: StatementSync;
  readonly readShown: StatementSync;
  readonly readAudit: StatementSync;
  readonly lastAudit: StatementSync;
}

/** Adds the label of a task, with the values of `labelRow`. */
export const PUT_LABEL: string =
  "INSERT OR REPLACE INTO label (task_id, title, workspace, agent) VALUES (?, ?, ?, ?)";

/** Adds what an audit record shows, unless its task has the text already. */
export const PUT_SHOWN: string =
  "INSERT OR IGNORE INTO audit_shown (task_id, digest, data) VALUES (?, ?, ?)";

/** Returns the values of a task's row in `label`. */
export function labelRow(
  taskId: string,
  { title, workspacePath, agent }: TaskLabel,
): string[] {
  return [taskId, title, workspacePath, agent];
}

/** Prepares the statements for a database with the tables of `TASK_SCHEMA`. */
export function prepareTaskStatements(database: DatabaseSync): TaskStatements {
  return {
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    head: database.prepare(
      `SELECT sequence, task.principal, state, context.task_id AS latest FROM task
         LEFT JOIN context ON context.principal = task.principal AND context.id = task.context_id
       WHERE task.id = ?`,
    ),
    putTask: database.prepare(
      `INSERT INTO task (id, context_id, principal, state, time_ms, sequence, messages, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET state = excluded.state, time_ms = excluded.time_ms, sequence = excluded.sequence,
         messages = messages + excluded.messages, bytes = bytes + excluded.bytes`,
    ),
    advanceTask: database.prepare(
      "UPDATE task SET time_ms = ?, sequence = ?, messages = messages + ?, bytes = bytes + ? WHERE id = ?",
    ),
    putLabel: database.prepare(PUT_LABEL),
    renameTask: database.prepare(
      "UPDATE label SET title = ? WHERE task_id = ?",
    ),
    putTitleKey: database.prepare("UPDATE task SET title_key = ? WHERE id = ?"),
    putLatest: database.prepare(
      "INSERT INTO context (principal, id, task_id) VALUES (?, ?, ?)" +
        " ON CONFLICT (principal, id) DO UPDATE SET task_id = excluded.task_id",
    ),
    findLatest: database.prepare(
      `SELECT event.data FROM context JOIN task ON task.id = context.task_id
         JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
       WHERE context.principal = ? AND context.id = ?`,
    ),
    putEvents: database.prepare(
      "INSERT INTO event (task_id, sequence, data) VALUES (?, ?, ?)",
    ),
    putMessage: database.prepare(
      "INSERT OR REPLACE INTO message (principal, message_id, task_id, sequence) VALUES (?, ?, ?, ?)",
    ),
    read: database.prepare(
      "SELECT data FROM event WHERE task_id = ? AND sequence > ? ORDER BY sequence",
    ),
    putHead: database.prepare(
      `INSERT INTO task_head (task_id, sequence, data) SELECT id, :sequence, :data FROM task WHERE id = :task
       ON CONFLICT (task_id) DO UPDATE SET sequence = excluded.sequence, data = excluded.data
         WHERE excluded.sequence >= task_head.sequence`,
    ),
    readHead: database.prepare("SELECT data FROM task_head WHERE task_id = ?"),
    readSizes: database.prepare(
      "SELECT id, context_id, principal, state, sequence, time_ms, bytes FROM task WHERE id > ? ORDER BY id LIMIT ?",
    ),
    findMessage: database.prepare(
      `SELECT event.data, message.task_id, message.sequence FROM message JOIN event ON event.task_id = message.task_id
         AND event.sequence >= message.sequence
       WHERE message.principal = ? AND message.message_id = ? ORDER BY event.sequence LIMIT 1`,
    ),
    findDeleted: database.prepare(
      "SELECT task_id, time_ms FROM deleted_message WHERE principal = ? AND message_id = ?",
    ),
    truncateLog: database.prepare("PRAGMA wal_checkpoint(TRUNCATE)"),
    putAudit: database.prepare(
      "INSERT INTO audit (number, data) VALUES (?, ?)",
    ),
    putShown: database.prepare(PUT_SHOWN),
    readShown: database.prepare(
      "SELECT data FROM audit_shown WHERE task_id = ? AND digest = ?",
    ),
    readAudit: database.prepare(
      "SELECT CAST(number AS TEXT) AS number, data FROM audit WHERE audit.number > ? ORDER BY audit.number LIMIT ?",
    ),
    lastAudit: database.prepare(
      "SELECT CAST(number AS TEXT) AS number, data FROM audit ORDER BY audit.number DESC LIMIT 1",
    ),
  };
}
