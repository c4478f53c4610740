import type { DatabaseSync, StatementSync } from "node:sqlite";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { DELETED_MESSAGE_MS } from "./deleted-task.ts";
import type { TaskDeletion } from "./task-store.ts";

/**
 * The size in bytes of rows at which the deletions of a transaction end, after
 * at least one row, and the maximum number of rows of a task in a table. SQLite
 * overwrites what it removes, which takes about 50 ms for a megabyte.
 */
const PART_BYTES = 256 * 1024;
const PART_ROWS = 256;

/** What a task counts beside its rows, in bytes: its statements take time, too. */
const TASK_BYTES = 4096;

/** How often ids of messages are forgotten, in milliseconds. */
const FORGET_EVERY_MS = 60_000;

/**
 * Removes tasks from a database with the tables of `TASK_SCHEMA`: first from the
 * sight of readers, then their rows, a part at a time. Everything that writes
 * must be called in a transaction.
 */
export class SqliteDeletion {
  readonly #statements: Statements;
  /**
   * The tasks whose rows are still there, with the times of their deletions in
   * milliseconds. Nothing else writes them: the file is locked.
   */
  readonly #left: Map<string, number>;
  /** The size in bytes that this transaction may still remove. */
  #room = 0;
  /** The time at which ids of messages were last forgotten, in milliseconds. */
  #forgotMs = 0;

  constructor(database: DatabaseSync) {
    this.#statements = prepareStatements(database);
    this.#left = new Map(
      this.#statements.left
        .all()
        .map((row) => [String(row.task_id), Number(row.time_ms)]),
    );
  }

  /** The tasks whose rows are still there. */
  get left(): Iterable<string> {
    return this.#left.keys();
  }

  /** Whether no rows of deleted tasks are there. */
  get isDone(): boolean {
    return this.#left.size === 0;
  }

  /**
   * Returns when a task was deleted whose rows are still there, in milliseconds;
   * undefined for any other.
   */
  deletedMs(taskId: string): number | undefined {
    return this.#left.get(taskId);
  }

  /** Begins a transaction, which removes a bounded part of the rows. */
  begin(): void {
    this.#room = PART_BYTES;
  }

  /** Notes that a part of a task's rows has been committed. */
  notePart(taskId: string, timeMs: number | undefined): void {
    if (timeMs === undefined) {
      this.#left.delete(taskId);
    } else {
      this.#left.set(taskId, timeMs);
    }
  }

  /**
   * Removes a task from what readers find, and returns the time of that in
   * milliseconds. Undefined when the task has another last event.
   */
  hide({ taskId, sequence, record }: TaskDeletion): number | undefined {
    const { task, latest, context, small, put, forget } = this.#statements;
    const found = task.get(taskId, sequence);
    if (!found) return undefined;
    const [principal, contextId] = [found.principal, found.context_id].map(
      String,
    );
    if (principal === undefined || contextId === undefined) return undefined;
    if (context.run(principal, contextId, taskId).changes > 0) {
      latest.run(principal, contextId);
    }
    for (const statement of small) statement.run(taskId);
    const timeMs = record.time ? timestampMs(record.time) : 0;
    put.run(taskId, timeMs);
    // It looks at each id of a day.
    if (timeMs - this.#forgotMs >= FORGET_EVERY_MS) {
      forget.run(timeMs - DELETED_MESSAGE_MS);
      this.#forgotMs = timeMs;
    }
    return timeMs;
  }

  /**
   * Removes a part of the rows of deleted tasks, one after the other, and
   * returns those of which none is left.
   */
  removeParts(taskIds: Iterable<string>): string[] {
    const whole: string[] = [];
    for (const taskId of taskIds) {
      const timeMs = this.#left.get(taskId);
      if (timeMs === undefined || !this.removePart(taskId, timeMs)) break;
      whole.push(taskId);
    }
    return whole;
  }

  /**
   * Removes a part of the rows of a task that was deleted, and returns whether
   * none is left.
   */
  removePart(taskId: string, timeMs: number): boolean {
    const { messages, keep, drop, large, done } = this.#statements;
    if (this.#room <= 0) return false;
    this.#room -= TASK_BYTES;
    // Before the events, by which messages are found.
    const sent = messages.all(taskId, PART_ROWS);
    for (const { principal, message_id: id } of sent) {
      keep.run(String(principal), String(id), taskId, timeMs);
      drop.run(String(principal), String(id));
    }
    if (sent.length === PART_ROWS) return false;
    for (const { find, remove } of large) {
      const rows = find.all(taskId, PART_ROWS);
      for (const { row, bytes } of rows) {
        if (this.#room <= 0) return false;
        remove.run(Number(row));
        this.#room -= Number(bytes);
      }
      if (rows.length === PART_ROWS) return false;
    }
    done.run(taskId);
    return true;
  }
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
  const prepare = (sql: string): StatementSync => database.prepare(sql);
  return {
    task: prepare(
      "DELETE FROM task WHERE id = ? AND sequence = ? RETURNING principal, context_id",
    ),
    context: prepare(
      "DELETE FROM context WHERE principal = ? AND id = ? AND task_id = ?",
    ),
    // The plus keeps SQLite from looking through all tasks of the principal.
    latest: prepare(
      `INSERT INTO context (principal, id, task_id)
       SELECT principal, context_id, id FROM task WHERE +principal = ? AND context_id = ?
       ORDER BY time_ms DESC, id DESC LIMIT 1`,
    ),
    /** Tables with few rows of a task. */
    small: ["label", "push_config"].map((table) =>
      prepare(`DELETE FROM ${table} WHERE task_id = ?`),
    ),
    put: prepare("INSERT INTO deleted_task (task_id, time_ms) VALUES (?, ?)"),
    left: prepare("SELECT task_id, time_ms FROM deleted_task"),
    done: prepare("DELETE FROM deleted_task WHERE task_id = ?"),
    forget: prepare("DELETE FROM deleted_message WHERE time_ms < ?"),
    messages: prepare(
      "SELECT principal, message_id FROM message WHERE task_id = ? LIMIT ?",
    ),
    keep: prepare(
      "INSERT OR REPLACE INTO deleted_message (principal, message_id, task_id, time_ms) VALUES (?, ?, ?, ?)",
    ),
    drop: prepare("DELETE FROM message WHERE principal = ? AND message_id = ?"),
    /** Tables with many rows of a task, or large ones. */
    large: ["audit_shown", "task_head", "event"].map((table) => ({
      find: prepare(
        `SELECT rowid AS row, length(data) AS bytes FROM ${table} WHERE task_id = ? LIMIT ?`,
      ),
      remove: prepare(`DELETE FROM ${table} WHERE rowid = ?`),
    })),
  };
}
