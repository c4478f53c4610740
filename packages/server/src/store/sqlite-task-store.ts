import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type AuditRecord,
  foldTitle,
  type TaskEvent,
  type TaskState,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { failpoint } from "../failpoint.ts";
import { assertFollows } from "./assert-follows.ts";
import { chainRecord, decodeAuditRow } from "./audit-chain.ts";
import {
  decodeRow,
  type EventRow,
  encodeRows,
  lastEventOf,
} from "./event-row.ts";
import { encodeCursor, positionOf } from "./list-position.ts";
import { messageIdOf } from "./message-id.ts";
import { assertWritable, openDatabase, storeError } from "./sqlite-database.ts";
import { readList } from "./sqlite-list.ts";
import { SqlitePushConfigStore } from "./sqlite-push-config-store.ts";
import { labelAfter, NO_LABEL } from "./task-label.ts";
import { TASK_SCHEMA } from "./task-schema.ts";
import {
  labelRow,
  prepareTaskStatements,
  type TaskStatements,
} from "./task-statements.ts";
import type {
  ListedTask,
  ServerStore,
  TaskPage,
  TaskQuery,
} from "./task-store.ts";

/**
 * The maximum number of rows to read at a time, so that no statement stays open
 * while a reader waits.
 */
const PAGE = 64;

/**
 * The size in bytes at which a page ends, after at least one row. Reading a
 * page blocks the event loop, and a row can have megabytes. A stream sends as
 * much before it waits for its client.
 */
const PAGE_BYTES = 256 * 1024;

/** The smallest number that a row can have. */
const SMALLEST = -(2n ** 63n);

/** An append that waits for the next commit. */
interface Append {
  readonly events: readonly TaskEvent[];
  /**
   * The encoded events. They are encoded before the append is queued, so that
   * an error fails this append only.
   */
  readonly rows: readonly EventRow[];
  readonly audit: readonly AuditRecord[];
  readonly committed: PromiseWithResolvers<void>;
}

/** The end of a task's log, and the task's columns. */
interface Head {
  readonly sequence: bigint;
  readonly principal: string;
  /** The state in the file; undefined for a new task. */
  readonly state: TaskState | undefined;
  /** Whether the file has the task as the latest of its context. */
  readonly isLatest: boolean;
  readonly last: TaskEvent;
}

/**
 * Keeps all logs in one SQLite file (WAL, synchronous=FULL), so that a commit
 * is on the disk when it returns. Appends to any tasks in one turn of the event
 * loop share one commit.
 */
export class SqliteTaskStore implements ServerStore {
  /**
   * The push configs in the same file. Must not be used after the store is
   * disposed of.
   */
  readonly pushConfigs: SqlitePushConfigStore;
  readonly #database: DatabaseSync;
  readonly #statements: TaskStatements;
  #queue: Append[] = [];
  #flushing: NodeJS.Immediate | undefined;
  #closed: Promise<void> | undefined;
  /** The last record of the audit chain. */
  #lastRecord: AuditRecord | undefined;

  /**
   * Opens a file, and creates it when it is missing. Throws a `DevtoolError`
   * that names the file when that fails.
   */
  static async open(path: string): Promise<SqliteTaskStore> {
    return new SqliteTaskStore(await openDatabase(path, TASK_SCHEMA));
  }

  /**
   * @param database was opened by `openDatabase` with `TASK_SCHEMA`; the store
   * closes it
   */
  constructor(database: DatabaseSync) {
    this.pushConfigs = new SqlitePushConfigStore(database);
    this.#database = database;
    this.#statements = prepareTaskStatements(database);
    const last = this.#statements.lastAudit.get();
    this.#lastRecord = last && decodeAuditRow(last);
  }

  async append(
    events: readonly TaskEvent[],
    audit: readonly AuditRecord[] = [],
  ): Promise<void> {
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
      const page: unknown[] = [];
      let bytes = 0;
      let isLast = true;
      for (const { data } of this.#statements.read.iterate(taskId, position)) {
        page.push(data);
        bytes += data instanceof Uint8Array ? data.length : 0;
        isLast = page.length < PAGE && bytes < PAGE_BYTES;
        if (!isLast) break;
      }
      for (const row of page) {
        const events = decodeRow(row).filter(
          ({ sequence }) => sequence > after,
        );
        yield* events;
        position = events.at(-1)?.sequence ?? position;
      }
      if (isLast) return;
      // A reader that never waits must still let others run.
      await nextTurn();
    }
  }

  async list(query: TaskQuery): Promise<TaskPage> {
    const rows = readList(this.#database, query);
    const tasks = rows.slice(0, query.limit).map((row): ListedTask => {
      const last = lastEventOf(row.data, {
        taskId: textOf(row.id),
        contextId: textOf(row.context_id),
        state: Number(row.state),
        timeMs: Number(row.time_ms),
        sequence: BigInt(Number(row.sequence)),
      });
      const { title, workspace, agent } = row;
      return {
        last,
        title: textOf(title),
        workspacePath: textOf(workspace),
        agent: textOf(agent),
      };
    });
    const last = tasks.at(-1)?.last;
    return {
      tasks,
      cursor:
        rows.length > query.limit && last
          ? encodeCursor(positionOf(last))
          : undefined,
    };
  }

  findLatest(
    principal: string,
    contextId: string,
  ): Promise<TaskEvent | undefined> {
    const row = this.#statements.findLatest.get(principal, contextId);
    return Promise.resolve(row && decodeRow(row.data).at(-1));
  }

  findMessage(
    principal: string,
    messageId: string,
  ): Promise<TaskEvent | undefined> {
    const row = this.#statements.findMessage.get(principal, messageId);
    const events = row ? decodeRow(row.data) : [];
    return Promise.resolve(
      events.find((event) => event.sequence === BigInt(Number(row?.sequence))),
    );
  }

  async *readAudit(after: bigint): AsyncIterable<AuditRecord> {
    // Numbers begin with 1. A row with a smaller one was tampered with and must
    // be included.
    let position = after > 0n ? after : SMALLEST;
    for (;;) {
      const records = this.#statements.readAudit
        .all(position, PAGE)
        .map(decodeAuditRow);
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

  /** Commits the queued appends and closes the file. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#queue.length > 0) this.#flush();
    this.#database.close();
  }

  /**
   * Writes the queued appends in one transaction. Rejects appends that do not
   * follow their logs, and all of them when the transaction fails.
   */
  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const queue = this.#queue;
    this.#queue = [];
    const heads = new Map<string, Head>();
    try {
      failpoint("devtool:store.append.before");
      this.#statements.begin.run();
      const written = queue.filter((append) =>
        this.#writeIfFollows(append, heads),
      );
      this.#writeHeads([...heads.values()]);
      const lastRecord = this.#writeAudit(
        written.flatMap(({ audit }) => audit),
      );
      failpoint("devtool:store.commit.before");
      this.#statements.commit.run();
      failpoint("devtool:store.commit.after");
      this.#lastRecord = lastRecord;
      for (const { committed } of written) committed.resolve();
    } catch (reason) {
      this.#rollBack();
      for (const { committed } of queue) committed.reject(storeError(reason));
    }
  }

  /** Appends records to the audit chain, and returns the last one. */
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
      // SQLite has rolled back by itself, as it does after some failures.
    }
  }

  /**
   * Writes the events of one append, and returns whether they follow their log.
   * Rejects the append when they do not.
   */
  #writeIfFollows(
    { events, rows, committed }: Append,
    heads: Map<string, Head>,
  ): boolean {
    const [first] = events;
    const last = events.at(-1);
    if (!first || !last) return true;
    const head = heads.get(first.taskId) ?? this.#readHead(first);
    try {
      assertFollows(events, head.sequence);
    } catch (reason) {
      committed.reject(reason);
      return false;
    }
    const { taskId } = first;
    failpoint("devtool:store.events.before");
    for (const { sequence, data } of rows) {
      this.#statements.putEvents.run(taskId, sequence, data);
    }
    for (const event of events) {
      const messageId = messageIdOf(event);
      if (messageId !== undefined) {
        this.#statements.putMessage.run(
          head.principal,
          messageId,
          event.taskId,
          event.sequence,
        );
      }
      const label = labelAfter(NO_LABEL, event);
      if (event.payload.case === "created") {
        this.#statements.putLabel.run(...labelRow(taskId, label));
      }
      if (event.payload.case === "renamed") {
        this.#statements.renameTask.run(
          label.title,
          foldTitle(label.title),
          taskId,
        );
      }
    }
    failpoint("devtool:store.events.after");
    // Moves the task to the end: of the tasks of one context, the last one here
    // is the latest.
    heads.delete(taskId);
    heads.set(taskId, { ...head, sequence: last.sequence, last });
    return true;
  }

  /** Reads the end of a task's log before this transaction. */
  #readHead({ taskId, payload }: TaskEvent): Omit<Head, "last"> {
    const row = this.#statements.head.get(taskId);
    const principal = payload.case === "created" ? payload.value.principal : "";
    if (!row) {
      return { sequence: 0n, principal, state: undefined, isLatest: false };
    }
    const { sequence, state, latest } = row;
    return {
      sequence: BigInt(Number(sequence)),
      principal: String(row.principal),
      state: Number(state),
      isLatest: latest === taskId,
    };
  }

  /** Updates the columns of the tasks that have new events. */
  #writeHeads(heads: readonly Head[]): void {
    failpoint("devtool:store.head.before");
    for (const { last, principal, state: before } of heads) {
      const { taskId, contextId, state, sequence } = last;
      const { timeMs } = positionOf(last);
      if (state === before) {
        this.#statements.advanceTask.run(timeMs, sequence, taskId);
      } else {
        this.#statements.putTask.run(
          taskId,
          contextId,
          principal,
          state,
          timeMs,
          sequence,
        );
      }
    }
    // The latest task of each context, unless the file has it already. Most
    // appends write nothing here.
    const latest = new Map(
      heads.map((head) => [
        JSON.stringify([head.principal, head.last.contextId]),
        head,
      ]),
    );
    for (const { principal, last, isLatest } of latest.values()) {
      if (!isLatest) {
        this.#statements.putLatest.run(principal, last.contextId, last.taskId);
      }
    }
    failpoint("devtool:store.head.after");
  }
}

/**
 * Returns the text of a column; empty for the label that a task does not have.
 */
function textOf(column: unknown): string {
  return typeof column === "string" ? column : "";
}

function closed(): DevtoolError {
  return new DevtoolError("the store is closed", Code.Unavailable, {
    remedy: "start the server again",
  });
}
