import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { failpoint } from "@devtool/internal/failpoint";
import { foldTitle } from "@devtool/internal/title-text";
import type { AuditRecord, TaskEvent, TaskState } from "@devtool/schema";
import { assertFollows } from "./assert-follows.ts";
import { chainRecord, decodeAuditRow, detachShown } from "./audit-chain.ts";
import { notAtSequence } from "./deleted-task.ts";
import { type EventRow, encodeRows } from "./event-row.ts";
import { positionOf } from "./list-position.ts";
import { messageIdOf } from "./message-id.ts";
import { storeError } from "./sqlite-database.ts";
import type { SqliteDeletion } from "./sqlite-deletion.ts";
import { labelAfter, NO_LABEL } from "./task-label.ts";
import { labelRow, type TaskStatements } from "./task-statements.ts";
import type { TaskAppend, TaskDeletion } from "./task-store.ts";

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

/** A deletion that waits for the next commit. */
interface Deletion {
  readonly deletion: TaskDeletion;
  readonly committed: PromiseWithResolvers<void>;
}

/** The end of a task's log in the file, and the task's columns. */
interface Head {
  readonly sequence: bigint;
  readonly principal: string;
  /** The state in the file; undefined for a new task. */
  readonly state: TaskState | undefined;
  /** Whether the file has the task as the latest of its context. */
  readonly isLatest: boolean;
}

/** A head with what a transaction has added to its log. */
interface Grown extends Head {
  readonly last: TaskEvent;
  /** The number of messages that were added. */
  readonly messages: number;
  /** The size in bytes of the rows that were added. */
  readonly bytes: number;
  /** The title, if it is new. */
  readonly title: string | undefined;
}

/**
 * The pause in milliseconds between two parts of a deletion, in which others
 * run.
 */
const PAUSE_MS = 10;

/**
 * Writes events to the database of a `SqliteTaskStore`. Appends to any tasks in
 * two turns of the event loop share one commit.
 */
export class SqliteAppends {
  readonly #database: DatabaseSync;
  readonly #statements: TaskStatements;
  readonly #deletion: SqliteDeletion;
  #queue: Append[] = [];
  #flushing: NodeJS.Immediate | undefined;
  /**
   * The ends of the logs that the last commit wrote, which its tasks most
   * likely write next. Nothing else writes them: the file is locked.
   */
  #heads: ReadonlyMap<string, Head> = new Map();
  /** The last record of the audit chain. */
  #lastRecord: AuditRecord | undefined;
  #deletions: Deletion[] = [];
  #deleting: NodeJS.Immediate | undefined;
  #erasing: Promise<void> | undefined;
  readonly #closing = new AbortController();

  constructor(
    database: DatabaseSync,
    statements: TaskStatements,
    deletion: SqliteDeletion,
  ) {
    this.#database = database;
    this.#statements = statements;
    this.#deletion = deletion;
    const last = statements.lastAudit.get();
    this.#lastRecord = last && decodeAuditRow(last);
  }

  /**
   * Queues events of one task, and records of the audit chain. Resolves when
   * they are on the disk.
   */
  async add({ events, audit = [] }: TaskAppend): Promise<void> {
    const rows = encodeRows(events);
    const committed = Promise.withResolvers<void>();
    this.#queue.push({ events, rows, audit, committed });
    // A turn of the event loop later: what it brings shares the commit, and what
    // an agent asks a model goes out before this thread waits for the disk.
    this.#flushing ??= setImmediate(() => {
      this.#flushing = setImmediate(() => this.flush());
    });
    return committed.promise;
  }

  /**
   * Writes the queued appends in one transaction, if there are any. Rejects
   * appends that do not follow their logs, and all of them when the transaction
   * fails.
   */
  flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const queue = this.#queue;
    if (queue.length === 0) return;
    this.#queue = [];
    const heads = new Map<string, Grown>();
    try {
      for (const { events } of queue) this.#makeRoom(events);
      failpoint("devtool:store.append.before");
      this.#statements.begin.run();
      const written = queue.filter((append) =>
        this.#writeIfFollows(append, heads),
      );
      const newHeads = this.#writeHeads([...heads.values()]);
      const lastRecord = this.#writeAudit(
        written.flatMap(({ audit }) => audit),
      );
      failpoint("devtool:store.commit.before");
      this.#statements.commit.run();
      failpoint("devtool:store.commit.after");
      this.#lastRecord = lastRecord;
      this.#heads = newHeads;
      for (const { committed } of written) committed.resolve();
    } catch (reason) {
      this.#rollBack();
      for (const { committed } of queue) committed.reject(storeError(reason));
    }
  }

  /**
   * Queues the deletion of a task. Resolves when no reader finds it; the rows of
   * a large one are erased later. Rejects when the task has another last event,
   * or the transaction fails.
   */
  async delete(deletion: TaskDeletion): Promise<void> {
    const committed = Promise.withResolvers<void>();
    this.#deletions.push({ deletion, committed });
    this.#deleting ??= setImmediate(() => this.#flushDeletions());
    return committed.promise;
  }

  /** Deletes the queued tasks in one transaction, after the queued appends. */
  #flushDeletions(): void {
    clearImmediate(this.#deleting);
    this.#deleting = undefined;
    this.flush();
    const queue = this.#deletions;
    this.#deletions = [];
    if (queue.length === 0) return;
    try {
      failpoint("devtool:store.delete.before");
      this.#statements.begin.run();
      this.#deletion.begin();
      const parts = queue.flatMap((each) => this.#deletePart(each) ?? []);
      const lastRecord = this.#writeAudit(parts.map(({ record }) => record));
      failpoint("devtool:store.delete-commit.before");
      this.#statements.commit.run();
      failpoint("devtool:store.delete-commit.after");
      for (const { taskId, left } of parts) {
        this.#deletion.notePart(taskId, left);
      }
      this.#lastRecord = lastRecord;
      this.#heads = new Map();
    } catch (reason) {
      this.#rollBack();
      for (const { committed } of queue) committed.reject(storeError(reason));
      return;
    }
    this.emptyLog();
    failpoint("devtool:store.delete.after");
    for (const { committed } of queue) committed.resolve();
    this.eraseLater();
  }

  /**
   * Empties the write-ahead log of the file, which still has what was deleted.
   * When that fails, the next deletion does it, or the next start.
   */
  emptyLog(): void {
    try {
      this.#statements.truncateLog.get();
    } catch {
      // What was deleted stays deleted.
    }
  }

  /**
   * Removes a task from readers, with a part of its rows. Rejects the deletion
   * when the task has another last event.
   */
  #deletePart({ deletion, committed }: Deletion):
    | {
        readonly taskId: string;
        readonly record: AuditRecord;
        /** The time of the deletion if rows are left. */
        readonly left: number | undefined;
      }
    | undefined {
    const { taskId, record } = deletion;
    const timeMs = this.#deletion.hide(deletion);
    if (timeMs === undefined) {
      committed.reject(notAtSequence(deletion));
      return undefined;
    }
    const isWhole = this.#deletion.removePart(taskId, timeMs);
    return { taskId, record, left: isWhole ? undefined : timeMs };
  }

  /**
   * Erases the rows of deleted tasks after a while. When it fails, for instance
   * because the disk is full, the next deletion or the next start goes on.
   */
  eraseLater(): void {
    this.erase().catch(() => undefined);
  }

  /**
   * Erases the rows of deleted tasks, a part at a time. Resolves when none is
   * left, or the store is closed.
   */
  erase(): Promise<void> {
    this.#erasing ??= this.#eraseAll().finally(() => {
      this.#erasing = undefined;
    });
    return this.#erasing;
  }

  /** Erases what is left of a deleted task whose id a new one gets. */
  #makeRoom([first]: readonly TaskEvent[]): void {
    if (first?.sequence !== 1n) return;
    const { taskId } = first;
    while (this.#deletion.deletedMs(taskId) !== undefined) {
      this.#erasePart([taskId]);
    }
  }

  async #eraseAll(): Promise<void> {
    const { signal } = this.#closing;
    while (!this.#deletion.isDone) {
      await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      this.#erasePart(this.#deletion.left);
    }
  }

  /** Erases a part of the rows of deleted tasks in one transaction. */
  #erasePart(taskIds: Iterable<string>): void {
    try {
      failpoint("devtool:store.erase.before");
      this.#statements.begin.run();
      this.#deletion.begin();
      const whole = this.#deletion.removeParts(taskIds);
      failpoint("devtool:store.erase-commit.before");
      this.#statements.commit.run();
      failpoint("devtool:store.erase-commit.after");
      for (const taskId of whole) this.#deletion.notePart(taskId, undefined);
    } catch (reason) {
      this.#rollBack();
      throw storeError(reason);
    }
    if (this.#deletion.isDone) this.emptyLog();
    failpoint("devtool:store.erase.after");
  }

  /** Writes the queued appends, and leaves deleted rows to the next start. */
  async close(): Promise<void> {
    this.#flushDeletions();
    this.#closing.abort();
    await this.#erasing?.catch(() => undefined);
  }

  /** Appends records to the audit chain, and returns the last one. */
  #writeAudit(records: readonly AuditRecord[]): AuditRecord | undefined {
    let last = this.#lastRecord;
    failpoint("devtool:store.audit.before");
    for (const record of records) {
      const { record: detached, text } = detachShown(record);
      if (text) {
        this.#statements.putShown.run(text.taskId, text.digest, text.data);
      }
      const { record: chained, data } = chainRecord(detached, last);
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
    heads: Map<string, Grown>,
  ): boolean {
    const [first] = events;
    const last = events.at(-1);
    if (!first || !last) return true;
    const grown = heads.get(first.taskId);
    const head =
      grown ?? this.#heads.get(first.taskId) ?? this.#readHead(first);
    try {
      assertFollows(events, head.sequence);
    } catch (reason) {
      committed.reject(reason);
      return false;
    }
    const { taskId } = first;
    let messages = grown?.messages ?? 0;
    let bytes = grown?.bytes ?? 0;
    let title = grown?.title;
    failpoint("devtool:store.events.before");
    for (const { sequence, data } of rows) {
      this.#statements.putEvents.run(taskId, sequence, data);
      bytes += data.length;
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
      messages += label.messageCount;
      if (event.payload.case === "created") {
        this.#statements.putLabel.run(...labelRow(taskId, label));
        title = label.title;
      }
      if (event.payload.case === "renamed") {
        this.#statements.renameTask.run(label.title, taskId);
        title = label.title;
      }
    }
    failpoint("devtool:store.events.after");
    // Moves the task to the end: of the tasks of one context, the last one here
    // is the latest.
    heads.delete(taskId);
    const { sequence } = last;
    heads.set(taskId, { ...head, sequence, last, messages, bytes, title });
    return true;
  }

  /** Reads the end of a task's log before this transaction. */
  #readHead({ taskId, payload }: TaskEvent): Head {
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

  /**
   * Updates the columns of the tasks that have new events, and returns the
   * heads of these tasks afterwards, by their ids.
   */
  #writeHeads(heads: readonly Grown[]): ReadonlyMap<string, Head> {
    failpoint("devtool:store.head.before");
    for (const head of heads) {
      const { last, principal, state: before, messages, bytes, title } = head;
      const { taskId, contextId, state, sequence } = last;
      const { timeMs } = positionOf(last);
      if (state === before) {
        this.#statements.advanceTask.run(
          timeMs,
          sequence,
          messages,
          bytes,
          taskId,
        );
      } else {
        this.#statements.putTask.run(
          taskId,
          contextId,
          principal,
          state,
          timeMs,
          sequence,
          messages,
          bytes,
        );
      }
      if (title !== undefined) {
        this.#statements.putTitleKey.run(foldTitle(title), taskId);
      }
    }
    // The latest task of each context, unless the file has it already. Most
    // appends write nothing here.
    const byContext = new Map(heads.map((head) => [contextOf(head), head]));
    const latest = new Set(byContext.values());
    for (const { principal, last, isLatest } of latest) {
      if (!isLatest) {
        this.#statements.putLatest.run(principal, last.contextId, last.taskId);
      }
    }
    failpoint("devtool:store.head.after");
    return new Map(
      heads.map((head) => {
        const { principal, sequence, last } = head;
        const isLatest = latest.has(head);
        return [
          last.taskId,
          { principal, sequence, state: last.state, isLatest },
        ];
      }),
    );
  }
}

/** Returns a key of the context of a task. */
function contextOf({ principal, last }: Grown): string {
  return JSON.stringify([principal, last.contextId]);
}
