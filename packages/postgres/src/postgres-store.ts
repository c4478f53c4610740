import { failpoint } from "@devtool/internal/failpoint";
import { KeyedQueue } from "@devtool/internal/keyed-queue";
import type { AuditRecord, TaskEvent, TaskState } from "@devtool/schema";
import {
  Code,
  DevtoolError,
  decodeCursor,
  decodeRow,
  encodeCursor,
  type ListedTask,
  lastEventOf,
  messageIdOf,
  positionOf,
  type ServerStore,
  type TaskAppend,
  type TaskPage,
  type TaskQuery,
} from "@devtool/server/store";
import type { Pool } from "pg";
import { createAppend } from "./append-batch.ts";
import { AppendQueue } from "./append-queue.ts";
import { AuditLog } from "./audit-log.ts";
import {
  type Database,
  openDatabase,
  type PostgresOptions,
  query,
} from "./connection.ts";
import { idOfKey, keyText } from "./key-text.ts";
import {
  listStatement,
  RARE,
  SIZES_PAGE,
  sizesStatement,
  titleStatement,
} from "./list-statement.ts";
import { PostgresAgentSessions } from "./postgres-agent-sessions.ts";
import { PostgresApprovals } from "./postgres-approvals.ts";
import { PostgresChanges } from "./postgres-changes.ts";
import { storeError } from "./postgres-error.ts";
import { PostgresInbox } from "./postgres-inbox.ts";
import { PostgresKeyStorage } from "./postgres-key-storage.ts";
import { PostgresLeases } from "./postgres-leases.ts";
import { PostgresPushConfigStore } from "./postgres-push-config-store.ts";
import { PostgresUntoldCancels } from "./postgres-untold-cancels.ts";
import { bounded } from "./stored-value.ts";
import {
  type DeletedRow,
  deletedMessage,
  deleteStatement,
  forgetStatement,
  notAtSequence,
  type TaskDeletion,
} from "./task-deletion.ts";

/**
 * The time in milliseconds after which a server that does not renew its leases
 * loses them, unless its options name another.
 */
const DEFAULT_LEASE_MS = 3000;

/**
 * The shortest lease in milliseconds. With less, a garbage collection and a
 * slow statement cost a server its tasks.
 */
const MIN_LEASE_MS = 1000;

/**
 * The longest lease in milliseconds. The tasks of a server that dies wait for
 * it, and timers of Node end at 24 days.
 */
const MAX_LEASE_MS = 3_600_000;

/** The maximum number of rows to read at a time. */
const PAGE = 64;

/**
 * The size in bytes at which a page of rows ends, after at least one row.
 */
const PAGE_BYTES = 256 * 1024;

/** The head of a task. */
type Head = Parameters<ServerStore["putHead"]>[0];

/**
 * Writes the head $3 of the task $1, which ends with the event $2. The lock waits
 * for a deletion that has not committed, after which there is no task.
 */
const PUT_HEAD = `
  INSERT INTO task_head (task_id, sequence, data) SELECT id, $2, $3 FROM task WHERE id = $1 FOR KEY SHARE
  ON CONFLICT (task_id) DO UPDATE SET sequence = excluded.sequence, data = excluded.data
    WHERE excluded.sequence >= task_head.sequence`;

/**
 * Reads a page of rows after a sequence. Each row says how many rows were
 * found, `PAGE` at most, before the page was cut by size.
 */
const READ_EVENTS = `
  SELECT ${bounded("data")} AS data, found FROM (
    SELECT data, sequence, count(*) OVER ()::integer AS found,
      sum(octet_length(data)) OVER (ORDER BY sequence) - octet_length(data) AS bytes_before
    FROM (
      SELECT data, sequence FROM event WHERE task_id = $1 AND sequence > $2 ORDER BY sequence LIMIT ${PAGE}
    ) AS page
  ) AS sized WHERE bytes_before < ${PAGE_BYTES} ORDER BY sequence`;

/** A task with its size, as the store's seam has it. */
type StoredTask =
  ReturnType<ServerStore["readSizes"]> extends AsyncIterable<infer Task>
    ? Task
    : never;

/** A row of `task`. */
type SizeRow = Pick<ListRow, "id" | "context_id" | "principal" | "state"> &
  Pick<ListRow, "time_ms" | "sequence"> & { bytes: string };

/** A row of a list. A task without a label has null in its columns. */
type ListRow = {
  data: unknown;
  id: string;
  context_id: string;
  principal: string;
  state: number;
  time_ms: string;
  sequence: string;
  messages: number;
  title: string | null;
  workspace: string | null;
  agent: string | null;
};

/**
 * Keeps all logs in a schema of PostgreSQL, which several servers share.
 *
 * Each task has one writer at a time, by a lease. When a server dies, the
 * others take over its tasks once its leases have ended.
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
    readonly untoldCancels: PostgresUntoldCancels;
    readonly forgetMessage: (
      principal: string,
      messageId: string,
      recorded: TaskEvent,
    ) => Promise<void>;
  };
  readonly #pool: Pool;
  readonly #urgent: Pool;
  readonly #audit: AuditLog;
  readonly #changes: PostgresChanges;
  readonly #appends: AppendQueue;
  readonly #deletions = new KeyedQueue();
  #closed: Promise<void> | undefined;

  /**
   * Connects to a database, and creates the tables when they are missing or
   * brings them to this release's version.
   *
   * Rejects with `Code.InvalidArgument` for a `leaseMs` out of range and for a
   * URL that is not one of PostgreSQL or names no database. Rejects with
   * `Code.FailedPrecondition` when the database cannot be opened, is older than
   * PostgreSQL 15, or has tables that a newer release has written. The error
   * says what to do.
   */
  static async open(options: PostgresOptions): Promise<PostgresStore> {
    const { leaseMs = DEFAULT_LEASE_MS } = options;
    if (!(leaseMs >= MIN_LEASE_MS && leaseMs <= MAX_LEASE_MS)) {
      const problem = `the lease of the store is ${leaseMs} ms: give ${MIN_LEASE_MS} to ${MAX_LEASE_MS}`;
      throw new DevtoolError(problem, Code.InvalidArgument);
    }
    return new PostgresStore(await openDatabase(options), leaseMs);
  }

  private constructor(
    { pool, urgent, config, schema }: Database,
    leaseMs: number,
  ) {
    this.#pool = pool;
    this.#urgent = urgent;
    const changes = new PostgresChanges(pool, config, schema);
    this.#changes = changes;
    const leases = new PostgresLeases(
      pool,
      urgent,
      () => changes.announceGivenUp(),
      leaseMs,
    );
    const inbox = new PostgresInbox(pool, leases, changes);
    const sessions = new PostgresAgentSessions(pool, leases);
    const keys = new PostgresKeyStorage(pool);
    const approvals = new PostgresApprovals(pool);
    const untoldCancels = new PostgresUntoldCancels(pool);
    const forgetMessage = async (
      principal: string,
      messageId: string,
      recorded: TaskEvent,
    ): Promise<void> => {
      await query(this.#pool, {
        text: "DELETE FROM message WHERE principal = $1 AND message_id = $2 AND task_id = $3 AND sequence = $4",
        values: [
          keyText(principal),
          keyText(messageId),
          keyText(recorded.taskId),
          recorded.sequence,
        ],
      });
    };
    this.shared = {
      leases,
      changes,
      inbox,
      sessions,
      keys,
      approvals,
      untoldCancels,
      forgetMessage,
    };
    this.#appends = new AppendQueue(pool, leases, (taskId, rows) =>
      changes.announce(taskId, rows),
    );
    this.#audit = new AuditLog(pool);
    this.pushConfigs = new PostgresPushConfigStore(pool);
  }

  async append(append: TaskAppend): Promise<void> {
    if (this.#closed) throw closed();
    const queued = createAppend(append);
    if (queued) return this.#appends.write(queued);
    try {
      await this.#audit.put(append.audit ?? []);
    } catch (reason) {
      throw storeError(reason);
    }
  }

  /** One after the other, as each looks for other tasks of its conversation. */
  delete(deletion: TaskDeletion): Promise<void> {
    return this.#deletions.run("", () => this.#deleteNext(deletion));
  }

  async #deleteNext(deletion: TaskDeletion): Promise<void> {
    if (this.#closed) throw closed();
    const { taskId } = deletion;
    await this.#appends.settle();
    failpoint("devtool:postgres.delete.before");
    const { rows } = await query<DeletedRow>(
      this.#pool,
      deleteStatement(deletion),
    );
    failpoint("devtool:postgres.delete.after");
    const [row] = rows;
    if (!row) throw notAtSequence(deletion);
    this.#changes.announceDeleted({
      taskId,
      contextId: idOfKey(row.context_id),
      principal: idOfKey(row.principal),
    });
    // Wakes who waits for an answer from the inbox.
    this.#changes.announce(taskId);
    failpoint("devtool:postgres.forget.before");
    await query(this.#pool, forgetStatement(deletion));
    failpoint("devtool:postgres.forget.after");
  }

  async *readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    let position = after;
    for (;;) {
      const { rows } = await query<{ data: unknown; found: number }>(
        this.#pool,
        {
          name: "read-events",
          text: READ_EVENTS,
          values: [keyText(taskId), position],
        },
      );
      for (const { data } of rows) {
        const events = decodeRow(data).filter(
          ({ sequence }) => sequence > after,
        );
        yield* events;
        position = events.at(-1)?.sequence ?? position;
      }
      const found = rows[0]?.found ?? 0;
      if (found < PAGE && rows.length === found) return;
    }
  }

  async putHead(head: Head): Promise<void> {
    const { taskId, sequence, data } = head;
    if (this.#closed) throw closed();
    failpoint("devtool:postgres.put-head.before");
    await query(this.#pool, {
      name: "put-head",
      text: PUT_HEAD,
      values: [keyText(taskId), sequence, data],
    });
    failpoint("devtool:postgres.put-head.after");
  }

  async readHead(taskId: string): Promise<Uint8Array | undefined> {
    const { rows } = await query<{ data: Buffer | null }>(this.#pool, {
      name: "read-head",
      text: `SELECT ${bounded("data")} AS data FROM task_head WHERE task_id = $1`,
      values: [keyText(taskId)],
    });
    return rows[0]?.data ?? undefined;
  }

  async list(selection: TaskQuery): Promise<TaskPage> {
    const { cursor, limit } = selection;
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const { rows } = await query<ListRow>(
      this.#pool,
      listStatement(selection, after, await this.#idsOf(selection)),
    );
    const tasks = rows.slice(0, limit).map((row): ListedTask => {
      const last = lastEventOf(row.data, {
        taskId: idOfKey(row.id),
        contextId: idOfKey(row.context_id),
        state: row.state,
        timeMs: Number(row.time_ms),
        sequence: BigInt(row.sequence),
      });
      const { title, workspace, agent, messages: messageCount } = row;
      return {
        last,
        principal: idOfKey(row.principal),
        title: title ?? "",
        workspacePath: idOfKey(workspace ?? ""),
        agent: idOfKey(agent ?? ""),
        messageCount,
      };
    });
    const last = tasks.at(-1)?.last;
    return {
      tasks,
      cursor:
        rows.length > limit && last
          ? encodeCursor(positionOf(last))
          : undefined,
    };
  }

  /**
   * Returns the ids of the tasks with the title that a query asks for, as the
   * table has them. Undefined for all tasks, and where too many have it.
   */
  async #idsOf({ titleContains }: TaskQuery): Promise<string[] | undefined> {
    if (!titleContains) return undefined;
    const { rows } = await query<{ task_id: string }>(
      this.#pool,
      titleStatement(titleContains),
    );
    return rows.length < RARE ? rows.map((row) => row.task_id) : undefined;
  }

  async *readSizes(
    states: readonly TaskState[] = [],
  ): AsyncIterable<StoredTask> {
    let position = "";
    for (;;) {
      const { rows } = await query<SizeRow>(
        this.#pool,
        sizesStatement(position, states),
      );
      for (const row of rows) {
        position = row.id;
        yield {
          taskId: idOfKey(row.id),
          contextId: idOfKey(row.context_id),
          principal: idOfKey(row.principal),
          state: row.state,
          sequence: BigInt(row.sequence),
          timeMs: Number(row.time_ms),
          bytes: Number(row.bytes),
        };
      }
      if (rows.length < SIZES_PAGE) return;
    }
  }

  async readBytes(): Promise<number> {
    const { rows } = await query<{ bytes: string }>(this.#pool, {
      text: `SELECT coalesce(sum(pg_total_relation_size(oid)), 0) AS bytes FROM pg_class
        WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
    });
    return Number(rows[0]?.bytes ?? 0);
  }

  async findLatest(
    principal: string,
    contextId: string,
  ): Promise<TaskEvent | undefined> {
    const { rows } = await query<{ data: unknown }>(this.#pool, {
      name: "find-latest",
      text: `SELECT ${bounded("event.data")} AS data FROM context JOIN task ON task.id = context.task_id
        JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
        WHERE context.principal = $1 AND context.id = $2`,
      values: [keyText(principal), keyText(contextId)],
    });
    return rows[0] && decodeRow(rows[0].data).at(-1);
  }

  async findMessage(
    principal: string,
    messageId: string,
  ): Promise<TaskEvent | undefined> {
    const { rows } = await query<{ data: unknown; sequence: string }>(
      this.#pool,
      {
        name: "find-message",
        text: `SELECT ${bounded("event.data")} AS data, message.sequence FROM message
        JOIN event ON event.task_id = message.task_id AND event.sequence >= message.sequence
        WHERE message.principal = $1 AND message.message_id = $2 ORDER BY event.sequence LIMIT 1`,
        values: [keyText(principal), keyText(messageId)],
      },
    );
    const [row] = rows;
    const event =
      row &&
      decodeRow(row.data).find(
        ({ sequence }) => sequence === BigInt(row.sequence),
      );
    if (!row) return this.#findDeleted(principal, messageId);
    // The message of a task that was refused for its id stays claimed for the
    // task of another server under that id.
    return event && messageIdOf(event) === messageId ? event : undefined;
  }

  async #findDeleted(
    principal: string,
    messageId: string,
  ): Promise<TaskEvent | undefined> {
    const { rows } = await query<{ task_id: string; time_ms: string }>(
      this.#pool,
      {
        name: "find-deleted",
        text: "SELECT task_id, time_ms FROM deleted_message WHERE principal = $1 AND message_id = $2",
        values: [keyText(principal), keyText(messageId)],
      },
    );
    const [row] = rows;
    return row && deletedMessage(idOfKey(row.task_id), Number(row.time_ms));
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
    // Locks no row and changes none, but is refused where nothing can be
    // written.
    await query(this.#pool, {
      text: "UPDATE layout SET version = version WHERE false",
      values: [],
    });
  }

  /** Commits the queued appends and ends the connections. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#appends.settle();
    await this.pushConfigs.settle();
    await this.shared.leases[Symbol.asyncDispose]();
    await this.shared.changes[Symbol.asyncDispose]();
    await this.#urgent.end();
    await this.#pool.end();
  }
}

function closed(): DevtoolError {
  return new DevtoolError("the store is closed", Code.Unavailable, {
    remedy: "start the server again",
  });
}
