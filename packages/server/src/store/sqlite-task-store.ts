import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { failpoint } from "@devtool/internal/failpoint";
import type { AuditRecord, TaskEvent } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { decodeAuditRow } from "./audit-chain.ts";
import { deletedMessage } from "./deleted-task.ts";
import { decodeRow, lastEventOf } from "./event-row.ts";
import { encodeCursor, positionOf } from "./list-position.ts";
import { SqliteAppends } from "./sqlite-appends.ts";
import { assertWritable, openDatabase, storeError } from "./sqlite-database.ts";
import { SqliteDeletion } from "./sqlite-deletion.ts";
import { readList } from "./sqlite-list.ts";
import { SqlitePushConfigStore } from "./sqlite-push-config-store.ts";
import { TASK_SCHEMA } from "./task-schema.ts";
import {
  prepareTaskStatements,
  type TaskStatements,
} from "./task-statements.ts";
import type {
  HeadRow,
  ListedTask,
  ServerStore,
  StoredTask,
  TaskAppend,
  TaskDeletion,
  TaskPage,
  TaskQuery,
} from "./task-store.ts";

/**
 * The maximum number of rows to read at a time, so that no statement stays open
 * while a reader waits.
 */
const PAGE = 64;

/** The number of tasks to read at a time without their events. */
const SIZES_PAGE = 512;

/**
 * The size in bytes at which a page ends, after at least one row. Reading a
 * page blocks the event loop, and a row can have megabytes.
 */
const PAGE_BYTES = 256 * 1024;

/** The smallest number that a row can have. */
const SMALLEST = -(2n ** 63n);

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
  readonly #deletion: SqliteDeletion;
  readonly #appends: SqliteAppends;
  #closed: Promise<void> | undefined;

  /**
   * Opens a file, and creates it when it is missing. Throws a `DevtoolError`
   * that names the file when that fails.
   */
  static async open(path: string): Promise<SqliteTaskStore> {
    // A server that was killed leaves it, maybe with what it had deleted.
    const hasLog = existsSync(`${path}-wal`);
    const store = new SqliteTaskStore(await openDatabase(path, TASK_SCHEMA));
    if (hasLog) store.#appends.emptyLog();
    store.#appends.eraseLater();
    return store;
  }

  /**
   * @param database was opened by `openDatabase` with `TASK_SCHEMA`; the store
   * closes it
   */
  constructor(database: DatabaseSync) {
    this.pushConfigs = new SqlitePushConfigStore(database);
    this.#database = database;
    this.#statements = prepareTaskStatements(database);
    this.#deletion = new SqliteDeletion(database);
    this.#appends = new SqliteAppends(
      database,
      this.#statements,
      this.#deletion,
    );
  }

  async append(append: TaskAppend): Promise<void> {
    if (this.#closed) throw closed();
    return this.#appends.add(append);
  }

  async delete(deletion: TaskDeletion): Promise<void> {
    if (this.#closed) throw closed();
    return this.#appends.delete(deletion);
  }

  async *readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    let position = after;
    while (this.#deletion.deletedMs(taskId) === undefined) {
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

  async putHead({ taskId, sequence, data }: HeadRow): Promise<void> {
    if (this.#closed) throw closed();
    try {
      failpoint("devtool:store.put-head.before");
      this.#statements.putHead.run({ task: taskId, sequence, data });
      failpoint("devtool:store.put-head.after");
    } catch (reason) {
      throw storeError(reason);
    }
  }

  async readHead(taskId: string): Promise<Uint8Array | undefined> {
    if (this.#deletion.deletedMs(taskId) !== undefined) return undefined;
    const { data } = this.#statements.readHead.get(taskId) ?? {};
    return data instanceof Uint8Array ? data : undefined;
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
      const { title, workspace, agent, messages } = row;
      return {
        last,
        principal: textOf(row.principal),
        title: textOf(title),
        workspacePath: textOf(workspace),
        agent: textOf(agent),
        messageCount: Number(messages),
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

  async *readSizes(): AsyncIterable<StoredTask> {
    let position = "";
    for (;;) {
      const rows = this.#statements.readSizes.all(position, SIZES_PAGE);
      for (const row of rows) {
        position = textOf(row.id);
        yield {
          taskId: position,
          contextId: textOf(row.context_id),
          principal: textOf(row.principal),
          state: Number(row.state),
          sequence: BigInt(Number(row.sequence)),
          timeMs: Number(row.time_ms),
          bytes: Number(row.bytes),
        };
      }
      if (rows.length < SIZES_PAGE) return;
      await nextTurn();
    }
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
    if (!row) return Promise.resolve(this.#findDeleted(principal, messageId));
    const taskId = textOf(row.task_id);
    const deletedMs = this.#deletion.deletedMs(taskId);
    if (deletedMs !== undefined) {
      return Promise.resolve(deletedMessage(taskId, deletedMs));
    }
    const events = decodeRow(row.data);
    return Promise.resolve(
      events.find((event) => event.sequence === BigInt(Number(row.sequence))),
    );
  }

  #findDeleted(principal: string, messageId: string): TaskEvent | undefined {
    const row = this.#statements.findDeleted.get(principal, messageId);
    return row && deletedMessage(textOf(row.task_id), Number(row.time_ms));
  }

  async *readAudit(after: bigint): AsyncIterable<AuditRecord> {
    // Numbers begin with 1. A row with a smaller one was tampered with and must
    // be included.
    let position = after > 0n ? after : SMALLEST;
    for (;;) {
      const records = this.#statements.readAudit
        .all(position, PAGE)
        .map(decodeAuditRow);
      // What a record shows may have megabytes: one at a time.
      for (const record of records) yield this.#withShown(record);
      const last = records.at(-1);
      // Not after a page that is not full: where a text is gone, the record of
      // the deletion follows.
      if (!last) return;
      position = last.number;
    }
  }

  async readBytes(): Promise<number> {
    const file = this.#database.location() ?? "";
    const sizes = [file, `${file}-wal`].map((path) =>
      stat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  async backUp(path: string): Promise<void> {
    // A backup has nothing of what was deleted.
    await this.#appends.erase();
    const { backup } = process.getBuiltinModule("node:sqlite");
    await backup(this.#database, path);
  }

  /** Adds to a record what it shows, unless that is gone. */
  #withShown(record: AuditRecord): AuditRecord {
    const { taskId, shownDigest } = record;
    const isDeleted = this.#deletion.deletedMs(taskId) !== undefined;
    if (shownDigest.length === 0 || isDeleted) return record;
    const { data } = this.#statements.readShown.get(taskId, shownDigest) ?? {};
    if (!(data instanceof Uint8Array)) return record;
    return { ...record, shown: Buffer.from(data).toString() };
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
    await this.#appends.close();
    this.#database.close();
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
