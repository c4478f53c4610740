import type { AuditRecord, TaskEvent } from "@devtool/schema";
import {
  assertFollows,
  Code,
  DevtoolError,
  decodeCursor,
  decodeRow,
  encodeCursor,
  failpoint,
  type InboxAnswer,
  type ListedTask,
  positionOf,
  quoted,
  type ServerStore,
  type TaskPage,
  type TaskQuery,
} from "@devtool/server/store";
import type { Pool, QueryConfig } from "pg";
import { type Append, type AppendGroup, createAppend, takeBatch } from "./append-batch.ts";
import { appendStatement } from "./append-statement.ts";
import { AuditLog } from "./audit-log.ts";
import { type Database, openDatabase, type PostgresOptions } from "./connection.ts";
import { idOfKey, keyText } from "./key-text.ts";
import { listStatement } from "./list-statement.ts";
import { PostgresAgentSessions } from "./postgres-agent-sessions.ts";
import { PostgresApprovals } from "./postgres-approvals.ts";
import { PostgresChanges } from "./postgres-changes.ts";
import { isConflict, storeError } from "./postgres-error.ts";
import { PostgresInbox } from "./postgres-inbox.ts";
import { PostgresKeyStorage } from "./postgres-key-storage.ts";
import { PostgresLeases } from "./postgres-leases.ts";
import { PostgresPushConfigStore } from "./postgres-push-config-store.ts";

/** The maximum number of rows to read at a time. */
const PAGE = 64;

/** The size in bytes at which a page of rows ends, after at least one row. It equals what a stream sends before it waits. */
const PAGE_BYTES = 256 * 1024;

/** How often a batch is tried again after another transaction was in its way. */
const MAX_CONFLICTS = 5;

/** A row of a list. A task without a label has null in its columns. */
type ListRow = { data: unknown; title: string | null; workspace: string | null; agent: string | null };

/**
 * Keeps all logs in a schema of PostgreSQL, which several servers share.
 *
 * One batch of appends is written at a time, in one statement; those that arrive meanwhile share the next one. So the appends of a
 * task keep their order, and more writers make larger batches.
 */
export class PostgresStore implements ServerStore {
  readonly pushConfigs: PostgresPushConfigStore;
  readonly shared: {
    readonly leases: PostgresLeases;
    readonly changes: PostgresChanges;
    readonly inbox: PostgresInbox;
    readonly sessions: PostgresAgentSessions;
    readonly keys: PostgresKeyStorage;
    readonly approvals: PostgresApprovals;
    readonly forgetMessage: (principal: string, messageId: string, recorded: TaskEvent) => Promise<void>;
  };
  readonly #pool: Pool;
  readonly #urgent: Pool;
  readonly #audit: AuditLog;
  readonly #queue: Append[] = [];
  #writing: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  /**
   * Connects to a database, and creates the tables when they are missing. Throws a `DevtoolError` that names the database and says
   * what to do when that fails.
   */
  static async open(options: PostgresOptions): Promise<PostgresStore> {
    return new PostgresStore(await openDatabase(options));
  }

  private constructor({ pool, urgent, config, schema }: Database) {
    this.#pool = pool;
    this.#urgent = urgent;
    const changes = new PostgresChanges(pool, config, schema);
    const leases = new PostgresLeases(pool, urgent, () => changes.announceLeft());
    const inbox = new PostgresInbox(pool, leases, changes);
    const sessions = new PostgresAgentSessions(pool, leases);
    const forgetMessage = this.#forgetMessage.bind(this);
    const keys = new PostgresKeyStorage(pool);
    const approvals = new PostgresApprovals(pool);
    this.shared = { leases, changes, inbox, sessions, keys, approvals, forgetMessage };
    this.#audit = new AuditLog(pool);
    this.pushConfigs = new PostgresPushConfigStore(pool);
  }

  async append(
    events: readonly TaskEvent[],
    audit: readonly AuditRecord[] = [],
    fence = 0n,
    answer?: InboxAnswer,
  ): Promise<void> {
    if (this.#closed) throw closed();
    const append = createAppend(events, audit, fence, answer);
    if (!append) return this.#putAudit(audit);
    this.#queue.push(append);
    this.#writing ??= this.#writeQueue();
    return append.committed.promise;
  }

  async #putAudit(records: readonly AuditRecord[]): Promise<void> {
    try {
      await this.#audit.put(records);
    } catch (reason) {
      throw storeError(reason);
    }
  }

  async *readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    let position = after;
    for (;;) {
      const { rows } = await this.#query<{ data: unknown; found: number }>(readStatement(taskId, position));
      for (const { data } of rows) {
        const events = decodeRow(data).filter(({ sequence }) => sequence > after);
        yield* events;
        position = events.at(-1)?.sequence ?? position;
      }
      const found = rows[0]?.found ?? 0;
      if (found < PAGE && rows.length === found) return;
    }
  }

  async list(query: TaskQuery): Promise<TaskPage> {
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const { rows } = await this.#query<ListRow>(listStatement(query, after));
    const tasks = rows.slice(0, query.limit).flatMap(({ data, title, workspace, agent }): ListedTask[] => {
      const last = decodeRow(data).at(-1);
      const label = { title: title ?? "", workspacePath: idOfKey(workspace ?? ""), agent: idOfKey(agent ?? "") };
      return last ? [{ last, ...label }] : [];
    });
    const last = tasks.at(-1)?.last;
    return { tasks, cursor: rows.length > query.limit && last ? encodeCursor(positionOf(last)) : undefined };
  }

  async findLatest(principal: string, contextId: string): Promise<TaskEvent | undefined> {
    const { rows } = await this.#query<{ data: unknown }>({
      name: "find-latest",
      text: `SELECT event.data FROM context JOIN task ON task.id = context.task_id
        JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
        WHERE context.principal = $1 AND context.id = $2`,
      values: [keyText(principal), keyText(contextId)],
    });
    return rows[0] && decodeRow(rows[0].data).at(-1);
  }

  async findMessage(principal: string, messageId: string): Promise<TaskEvent | undefined> {
    const { rows } = await this.#query<{ data: unknown; sequence: string }>({
      name: "find-message",
      text: `SELECT event.data, message.sequence FROM message
        JOIN event ON event.task_id = message.task_id AND event.sequence >= message.sequence
        WHERE message.principal = $1 AND message.message_id = $2 ORDER BY event.sequence LIMIT 1`,
      values: [keyText(principal), keyText(messageId)],
    });
    const [row] = rows;
    return row && decodeRow(row.data).find(({ sequence }) => sequence === BigInt(row.sequence));
  }

  async #forgetMessage(principal: string, messageId: string, { taskId, sequence }: TaskEvent): Promise<void> {
    await this.#query({
      text: "DELETE FROM message WHERE principal = $1 AND message_id = $2 AND task_id = $3 AND sequence = $4",
      values: [keyText(principal), keyText(messageId), keyText(taskId), sequence],
    });
  }

  async *readAudit(after: bigint): AsyncIterable<AuditRecord> {
    try {
      yield* this.#audit.read(after);
    } catch (reason) {
      throw storeError(reason);
    }
  }

  async assertWritable(): Promise<void> {
    if (this.#closed) throw closed();
    // Locks no row and changes none, but is refused where nothing can be written.
    await this.#query({ text: "UPDATE layout SET version = version WHERE false", values: [] });
  }

  /** Commits the queued appends and ends the connections. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#writing;
    await this.pushConfigs.settle();
    await this.shared.leases[Symbol.asyncDispose]();
    await this.shared.changes[Symbol.asyncDispose]();
    await this.#urgent.end();
    await this.#pool.end();
  }

  async #writeQueue(): Promise<void> {
    // Appends of one turn of the event loop share a batch.
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#writeBatch(takeBatch(this.#queue));
    this.#writing = undefined;
  }

  /** Writes a batch, and settles its appends. */
  async #writeBatch(groups: readonly AppendGroup[]): Promise<void> {
    try {
      failpoint("devtool:postgres.append.before");
      const written = await this.#commit(groups);
      failpoint("devtool:postgres.append.after");
      const [done, refused] = [true, false].map((is) => groups.filter(({ taskId }) => written.has(taskId) === is));
      this.shared.changes.announce([...written]);
      for (const { appends } of done ?? []) for (const { committed } of appends) committed.resolve();
      if (refused && refused.length > 0) await this.#refuse(refused);
    } catch (reason) {
      const error = storeError(reason);
      for (const { appends } of groups) for (const { committed } of appends) committed.reject(error);
    }
  }

  /** Returns the ids of the tasks whose groups were written. */
  async #commit(groups: readonly AppendGroup[]): Promise<ReadonlySet<string>> {
    const ids = new Map(groups.map(({ taskId }) => [keyText(taskId), taskId]));
    for (let conflicts = 0; ; conflicts++) {
      try {
        const { rows } = await this.#pool.query<{ id: string }>(appendStatement(groups, this.shared.leases.owner));
        return new Set(rows.map(({ id }) => ids.get(id) ?? id));
      } catch (reason) {
        if (!isConflict(reason) || conflicts === MAX_CONFLICTS) throw reason;
      }
    }
  }

  /** Rejects the appends of groups that were not written, with the reason. */
  async #refuse(groups: readonly AppendGroup[]): Promise<void> {
    const { rows } = await this.#pool.query<{ id: string; sequence: string; fence: string }>(
      "SELECT id, sequence, fence FROM task WHERE id = ANY ($1)",
      [groups.map(({ taskId }) => keyText(taskId))],
    );
    const heads = new Map(rows.map(({ id, sequence, fence }) => [id, { sequence, fence: BigInt(fence) }]));
    for (const { taskId, fence, appends } of groups) {
      const head = heads.get(keyText(taskId));
      for (const { events, committed } of appends) {
        committed.reject(
          refusal(events, fence, { sequence: BigInt(head?.sequence ?? 0), fence: head?.fence ?? fence }),
        );
      }
    }
  }

  async #query<R extends Record<string, unknown>>(query: QueryConfig): Promise<{ readonly rows: readonly R[] }> {
    try {
      return await this.#pool.query<R>(query);
    } catch (reason) {
      throw storeError(reason);
    }
  }
}

/** Reads a page of rows after a sequence. Each row says how many rows were found, `PAGE` at most, before the page was cut by size. */
function readStatement(taskId: string, after: bigint): QueryConfig {
  return {
    name: "read-events",
    text: `SELECT data, found FROM (
        SELECT data, sequence, count(*) OVER ()::integer AS found,
          sum(octet_length(data)) OVER (ORDER BY sequence) - octet_length(data) AS bytes_before
        FROM (
          SELECT data, sequence FROM event WHERE task_id = $1 AND sequence > $2 ORDER BY sequence LIMIT ${PAGE}
        ) AS page
      ) AS sized WHERE bytes_before < ${PAGE_BYTES} ORDER BY sequence`,
    values: [keyText(taskId), after],
  };
}

/** Creates the error of an append that was not written. */
function refusal(
  events: readonly TaskEvent[],
  fence: bigint,
  head: { readonly sequence: bigint; readonly fence: bigint },
): unknown {
  const taskId = events[0]?.taskId ?? "";
  if (head.fence !== fence) {
    return new DevtoolError(
      `task ${quoted(taskId)} has fence ${head.fence}, not ${fence}: there was another writer, another server has taken it over`,
      Code.Aborted,
    );
  }
  try {
    assertFollows(events, head.sequence);
  } catch (reason) {
    return reason;
  }
  // It follows now, but did not when it was tried.
  return new DevtoolError(`task ${quoted(taskId)} changed meanwhile: there was another writer`, Code.Aborted);
}

function closed(): DevtoolError {
  return new DevtoolError("the store is closed", Code.Unavailable, { remedy: "start the server again" });
}
