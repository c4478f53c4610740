import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AuditRecord, TaskEvent, TaskState } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { failpoint } from "../failpoint.ts";
import { assertFollows } from "./assert-follows.ts";
import { assertWritable } from "./assert-writable.ts";
import { chainRecord, decodeAuditRow } from "./audit-chain.ts";
import { decodeRow, type EventRow, encodeRows } from "./event-row.ts";
import { Filters } from "./filters.ts";
import { decodeCursor, encodeCursor, positionOf } from "./list-position.ts";
import { messageIdOf } from "./message-id.ts";
import { openDatabase, storeError } from "./sqlite-database.ts";
import { SqlitePushConfigStore } from "./sqlite-push-config-store.ts";
import { TASK_SCHEMA } from "./task-schema.ts";
import { prepareTaskStatements, type TaskStatements } from "./task-statements.ts";
import type { TaskPage, TaskQuery, TaskStore } from "./task-store.ts";

/** The maximum number of rows that are read at a time, so that no statement stays open while a reader waits. */
const PAGE = 64;

/**
 * The size in bytes at which a page ends, after at least one row: a row can have megabytes, and the event loop stands still
 * while a page is read. It is what a stream sends before it waits for its client.
 */
const PAGE_BYTES = 256 * 1024;

/** The least number that a row can have. */
const LEAST = -(2n ** 63n);

interface Append {
  readonly events: readonly TaskEvent[];
  /** The events in binary, made before they queue: one that cannot be written fails no other's commit. */
  readonly rows: readonly EventRow[];
  readonly audit: readonly AuditRecord[];
  readonly committed: PromiseWithResolvers<void>;
}

/** Where a task's log ends, and whose it is. */
interface Head {
  readonly sequence: bigint;
  readonly principal: string;
  /** The state in the file; undefined for a task that is not in it. */
  readonly state: TaskState | undefined;
  /** Whether the file names the task as the one of its context that changed last. */
  readonly isLatest: boolean;
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
    if (this.#closed) throw closed();
    const rows = encodeRows(events);
    const committed = Promise.withResolvers<void>();
    this.#queue.push({ events, rows, audit, committed });
    this.#flushing ??= setImmediate(() => this.#flush());
    return committed.promise;
  }

  async *readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    let position = after;
    for (;;) {
      const page = this.#readPage(taskId, position);
      for (const row of page.rows) {
        const events = decodeRow(row).filter(({ sequence }) => sequence > after);
        yield* events;
        position = events.at(-1)?.sequence ?? position;
      }
      if (page.isLast) return;
      // Readers that wait for nothing themselves must let others in, too.
      await nextTurn();
    }
  }

  #readPage(taskId: string, after: bigint): { readonly rows: readonly unknown[]; readonly isLast: boolean } {
    const rows: unknown[] = [];
    let bytes = 0;
    for (const { data } of this.#statements.read.iterate(taskId, after)) {
      rows.push(data);
      bytes += data instanceof Uint8Array ? data.length : 0;
      if (rows.length === PAGE || bytes >= PAGE_BYTES) return { rows, isLast: false };
    }
    return { rows, isLast: true };
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
        // The tasks first, then their events: those of all that match would be read before the latest are known.
        `SELECT event.data FROM
           (SELECT id, sequence, time_ms FROM task ${filters.where} ORDER BY time_ms DESC, id DESC LIMIT ?) AS task
         JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
         ORDER BY task.time_ms DESC, task.id DESC`,
      )
      .all(...filters.values, limit + 1);
    const tasks = rows.slice(0, limit).flatMap(({ data }) => decodeRow(data).at(-1) ?? []);
    const last = tasks.at(-1);
    return { tasks, cursor: rows.length > limit && last ? encodeCursor(positionOf(last)) : undefined };
  }

  findLatest(principal: string, contextId: string): Promise<TaskEvent | undefined> {
    const row = this.#statements.findLatest.get(principal, contextId);
    return Promise.resolve(row && decodeRow(row.data).at(-1));
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

  async assertWritable(): Promise<void> {
    if (this.#closed) throw closed();
    await assertWritable(this.#database);
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
      failpoint("devtool:store.append.before");
      this.#statements.begin.run();
      const written = queue.filter((append) => this.#fits(append, heads));
      this.#writeHeads([...heads.values()]);
      const lastRecord = this.#writeAudit(written.flatMap(({ audit }) => audit));
      failpoint("devtool:store.commit.before");
      this.#statements.commit.run();
      failpoint("devtool:store.commit.after");
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
    failpoint("devtool:store.audit.before");
    for (const record of records) {
      const { record: chained, data } = chainRecord(record, last);
      this.#statements.putAudit.run(chained.number, data);
      last = chained;
    }
    failpoint("devtool:store.audit.after");
    return last;
  }

  #rollBack(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // SQLite did it by itself, as it does for some failures.
    }
  }

  #fits({ events, rows, committed }: Append, heads: Map<string, Head>): boolean {
    const [first] = events;
    const last = events.at(-1);
    if (!first || !last) return true;
    const head = heads.get(first.taskId) ?? this.#head(first);
    try {
      assertFollows(events, head.sequence);
    } catch (reason) {
      committed.reject(reason);
      return false;
    }
    this.#write({ events, rows }, head.principal);
    // Behind the others: of the tasks of one context the last one here is the latest.
    heads.delete(first.taskId);
    heads.set(first.taskId, { ...head, sequence: last.sequence, last });
    return true;
  }

  #head({ taskId, payload }: TaskEvent): Omit<Head, "last"> {
    const row = this.#statements.head.get(taskId);
    const principal = payload.case === "created" ? payload.value.principal : "";
    if (!row) return { sequence: 0n, principal, state: undefined, isLatest: false };
    const { sequence, state, latest } = row;
    return {
      sequence: BigInt(Number(sequence)),
      principal: String(row.principal),
      state: Number(state),
      isLatest: latest === taskId,
    };
  }

  #writeHeads(heads: readonly Head[]): void {
    failpoint("devtool:store.head.before");
    for (const head of heads) this.#writeHead(head);
    // Of each context the task that changed last, unless the file names it already: most appends write nothing here.
    const latest = new Map(heads.map((head) => [JSON.stringify([head.principal, head.last.contextId]), head]));
    for (const { principal, last, isLatest } of latest.values())
      if (!isLatest) this.#statements.putLatest.run(principal, last.contextId, last.taskId);
    failpoint("devtool:store.head.after");
  }

  #writeHead({ last, principal, state: before }: Head): void {
    const { taskId, contextId, state, sequence } = last;
    const { timeMs } = positionOf(last);
    if (state === before) this.#statements.advanceTask.run(timeMs, sequence, taskId);
    else this.#statements.putTask.run(taskId, contextId, principal, state, timeMs, sequence);
  }

  #write({ events, rows }: Pick<Append, "events" | "rows">, principal: string): void {
    const taskId = events[0]?.taskId ?? "";
    failpoint("devtool:store.events.before");
    for (const { sequence, data } of rows) this.#statements.putEvents.run(taskId, sequence, data);
    for (const event of events) {
      const messageId = messageIdOf(event);
      if (messageId !== undefined) this.#statements.putMessage.run(principal, messageId, event.taskId, event.sequence);
    }
    failpoint("devtool:store.events.after");
  }
}

function closed(): DevtoolError {
  return new DevtoolError("the store is closed", Code.Unavailable, { remedy: "start the server again" });
}
