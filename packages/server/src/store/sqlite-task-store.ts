import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { AuditRecord, TaskEvent } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { assertFollows } from "./assert-follows.ts";
import { chainRecord, decodeAuditRow } from "./audit-chain.ts";
import { decodeRow, encodeRow } from "./event-row.ts";
import { decodeCursor, encodeCursor, positionOf } from "./list-position.ts";
import { messageIdOf } from "./message-id.ts";
import { isDiskFull, openDatabase } from "./sqlite-database.ts";
import { PUSH_SCHEMA, SqlitePushConfigStore } from "./sqlite-push-config-store.ts";
import { prepareTaskStatements, type TaskStatements } from "./task-statements.ts";
import type { TaskPage, TaskQuery, TaskStore } from "./task-store.ts";

/** So many rows are read at a time, so that no statement stays open while a reader waits. */
const PAGE = 64;

/** The least number that a row can have. */
const LEAST = -(2n ** 63n);

/**
 * The tables and indexes that the store keeps its logs in. A row of `event` holds the events of one append, which were
 * one to their writer too, under the sequence of the last. Events lie in the order in which they came (so `event` has row
 * ids), and only one index moves with time: together they make 200 busy tasks write half as fast again.
 */
export const TASK_SCHEMA: string = `
  CREATE TABLE IF NOT EXISTS task (
    id TEXT PRIMARY KEY, context_id TEXT NOT NULL, principal TEXT NOT NULL,
    state INTEGER NOT NULL, time_ms INTEGER NOT NULL, sequence INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS task_by_time ON task (principal, time_ms DESC, id DESC);
  CREATE INDEX IF NOT EXISTS task_by_context ON task (context_id);
  CREATE INDEX IF NOT EXISTS task_by_state ON task (state);
  CREATE TABLE IF NOT EXISTS event (
    task_id TEXT NOT NULL, sequence INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (task_id, sequence)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS message (
    principal TEXT NOT NULL, message_id TEXT NOT NULL, task_id TEXT NOT NULL, sequence INTEGER NOT NULL,
    PRIMARY KEY (principal, message_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS audit (number INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
  ${PUSH_SCHEMA}
`;

interface Append {
  readonly events: readonly TaskEvent[];
  /** The events in binary, made before they queue: one that cannot be written fails no other's commit. */
  readonly row: Uint8Array;
  readonly audit: readonly AuditRecord[];
  readonly committed: PromiseWithResolvers<void>;
}

/** Where a task's log ends, and whose it is. */
interface Head {
  readonly sequence: bigint;
  readonly principal: string;
  readonly last: TaskEvent;
}

/**
 * Keeps all logs in one SQLite file (WAL, synchronous=FULL): a commit is on the disk when it returns. Appends that come
 * in the same turn of the event loop share one commit, whatever their tasks.
 */
export class SqliteTaskStore implements TaskStore {
  /** The push configs in the same file; to be used no longer than the store. */
  readonly pushConfigs: SqlitePushConfigStore;
  readonly #database: DatabaseSync;
  readonly #statements: TaskStatements;
  #queue: Append[] = [];
  #flushing: NodeJS.Immediate | undefined;
  #closed: Promise<void> | undefined;
  /** The end of the audit chain. */
  #lastRecord: AuditRecord | undefined;

  /** Opens the file at a path, creating it when it is not there. Throws a `DevtoolError` that names it when it cannot. */
  static async open(path: string): Promise<SqliteTaskStore> {
    return new SqliteTaskStore(await openDatabase(path, TASK_SCHEMA));
  }

  /** Takes over a database that `openDatabase` laid out with `TASK_SCHEMA`; closes it at its own end. */
  constructor(database: DatabaseSync) {
    this.pushConfigs = new SqlitePushConfigStore(database);
    this.#database = database;
    this.#statements = prepareTaskStatements(database);
    const last = this.#statements.lastAudit.get();
    this.#lastRecord = last && decodeAuditRow(last);
  }

  async append(events: readonly TaskEvent[], audit: readonly AuditRecord[] = []): Promise<void> {
    if (this.#closed) throw new DevtoolError("the store is closed: start the server again", Code.Unavailable);
    const row = encodeRow(events);
    const committed = Promise.withResolvers<void>();
    this.#queue.push({ events, row, audit, committed });
    this.#flushing ??= setImmediate(() => this.#flush());
    return committed.promise;
  }

  async *readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    let position = after;
    for (;;) {
      const rows = this.#statements.read.all(taskId, position, PAGE);
      const events = rows.flatMap(({ data }) => decodeRow(data)).filter(({ sequence }) => sequence > after);
      yield* events;
      const last = events.at(-1);
      if (!last || rows.length < PAGE) return;
      position = last.sequence;
    }
  }

  async list({ principal, contextId, state, limit, cursor }: TaskQuery): Promise<TaskPage> {
    const filters = new Filters()
      // The plus keeps SQLite from walking all tasks of the principal where the few of a conversation will do.
      .add(contextId === undefined ? "task.principal = ?" : "+task.principal = ?", principal)
      .add("task.context_id = ?", contextId)
      .add("task.state = ?", state);
    if (cursor !== undefined) {
      const { timeMs, taskId } = decodeCursor(cursor);
      filters.add("(task.time_ms, task.id) < (?, ?)", timeMs, taskId);
    }
    const rows = this.#database
      .prepare(
        `SELECT event.data FROM task JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
         ${filters.where} ORDER BY task.time_ms DESC, task.id DESC LIMIT ?`,
      )
      .all(...filters.values, limit + 1);
    const tasks = rows.slice(0, limit).flatMap(({ data }) => decodeRow(data).at(-1) ?? []);
    const last = tasks.at(-1);
    return { tasks, cursor: rows.length > limit && last ? encodeCursor(positionOf(last)) : undefined };
  }

  findMessage(principal: string, messageId: string): Promise<TaskEvent | undefined> {
    const row = this.#statements.findMessage.get(principal, messageId);
    const events = row ? decodeRow(row.data) : [];
    return Promise.resolve(events.find((event) => event.sequence === BigInt(Number(row?.sequence))));
  }

  async *readAudit(after: bigint): AsyncIterable<AuditRecord> {
    // No record has a number below 1: a row that has one was changed, and must not be passed over.
    let position = after > 0n ? after : LEAST;
    for (;;) {
      const records = this.#statements.readAudit.all(position, PAGE).map(decodeAuditRow);
      yield* records;
      const last = records.at(-1);
      if (!last || records.length < PAGE) return;
      position = last.number;
    }
  }

  /** Writes what is queued and closes the file. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#queue.length > 0) this.#flush();
    this.#database.close();
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const queue = this.#queue;
    this.#queue = [];
    const written = this.#commit(queue);
    for (const { committed } of written) committed.resolve();
  }

  /** Writes appends in one transaction. Rejects those that do not fit, and all when it fails; gives those that are durable. */
  #commit(queue: readonly Append[]): readonly Append[] {
    const heads = new Map<string, Head>();
    try {
      this.#statements.begin.run();
      const written = queue.filter((append) => this.#fits(append, heads));
      for (const head of heads.values()) this.#writeHead(head);
      const lastRecord = this.#writeAudit(written.flatMap(({ audit }) => audit));
      this.#statements.commit.run();
      this.#lastRecord = lastRecord;
      return written;
    } catch (reason) {
      this.#rollBack();
      for (const { committed } of queue) committed.reject(storeError(reason));
      return [];
    }
  }

  /** Chains records behind those that are there; gives the last. */
  #writeAudit(records: readonly AuditRecord[]): AuditRecord | undefined {
    let last = this.#lastRecord;
    for (const record of records) {
      const { record: chained, data } = chainRecord(record, last);
      this.#statements.putAudit.run(chained.number, data);
      last = chained;
    }
    return last;
  }

  #rollBack(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // SQLite did it by itself, as it does for some failures.
    }
  }

  #fits({ events, row, committed }: Append, heads: Map<string, Head>): boolean {
    const [first] = events;
    const last = events.at(-1);
    if (!first || !last) return true;
    const { sequence, principal } = heads.get(first.taskId) ?? this.#head(first);
    try {
      assertFollows(events, sequence);
    } catch (reason) {
      committed.reject(reason);
      return false;
    }
    this.#write({ events, row, last }, principal);
    heads.set(first.taskId, { sequence: last.sequence, principal, last });
    return true;
  }

  #head({ taskId, payload }: TaskEvent): Omit<Head, "last"> {
    const row = this.#statements.head.get(taskId);
    if (row) return { sequence: BigInt(Number(row.sequence)), principal: String(row.principal) };
    return { sequence: 0n, principal: payload.case === "created" ? payload.value.principal : "" };
  }

  #writeHead({ last, principal }: Head): void {
    const { taskId, contextId, state, sequence } = last;
    this.#statements.putTask.run(taskId, contextId, principal, state, positionOf(last).timeMs, sequence);
  }

  #write(
    { events, row, last }: Pick<Append, "events" | "row"> & { readonly last: TaskEvent },
    principal: string,
  ): void {
    this.#statements.putEvents.run(last.taskId, last.sequence, row);
    for (const event of events) {
      const messageId = messageIdOf(event);
      if (messageId !== undefined) this.#statements.putMessage.run(principal, messageId, event.taskId, event.sequence);
    }
  }
}

/** The conditions of a query that are asked for, with their values. */
class Filters {
  readonly values: SQLInputValue[] = [];
  readonly #conditions: string[] = [];

  add(condition: string, ...values: readonly (SQLInputValue | undefined)[]): this {
    const given = values.filter((value) => value !== undefined);
    if (given.length < values.length) return this;
    this.#conditions.push(condition);
    this.values.push(...given);
    return this;
  }

  get where(): string {
    return this.#conditions.length > 0 ? `WHERE ${this.#conditions.join(" AND ")}` : "";
  }
}

function storeError(reason: unknown): DevtoolError {
  return isDiskFull(reason)
    ? new DevtoolError("the disk is full: free some space and try again", Code.ResourceExhausted, { cause: reason })
    : new DevtoolError("the store cannot write: the server's log says more", Code.Unavailable, { cause: reason });
}
