import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import {
  InboxRefusalSchema,
  type InboxRequest,
  InboxRequestSchema,
} from "@devtool/schema";
import type { InboxEntry, InboxReply, TaskInbox } from "@devtool/server/store";
import type { Pool } from "pg";
import { query } from "./connection.ts";
import { idOfKey, keyText } from "./key-text.ts";
import type { PostgresChanges } from "./postgres-changes.ts";
import type { PostgresLeases } from "./postgres-leases.ts";
import { bounded } from "./stored-value.ts";

/** The columns of an entry with a reply. */
interface ReplyRow {
  readonly [column: string]: unknown;
  readonly sequence: string | null;
  readonly refusal: Buffer | null;
}

/**
 * The requests to tasks that other servers of the database run, in a table.
 *
 * An entry without a reply has neither a sequence nor a refusal.
 *
 * A reply locks the row of the task and checks its fence, as an append does. So
 * the server that holds the lease replies, and whoever acquires the task next
 * sees which entries have a reply.
 */
export class PostgresInbox implements TaskInbox {
  readonly #pool: Pool;
  readonly #leases: PostgresLeases;
  readonly #changes: PostgresChanges;

  constructor(pool: Pool, leases: PostgresLeases, changes: PostgresChanges) {
    this.#pool = pool;
    this.#leases = leases;
    this.#changes = changes;
  }

  async put(taskId: string, request: InboxRequest): Promise<bigint> {
    failpoint("devtool:postgres.inbox-put.before");
    const { rows } = await query<{ id: string }>(this.#pool, {
      text: "INSERT INTO inbox (task_id, request) VALUES ($1, $2) RETURNING id",
      values: [keyText(taskId), toBinary(InboxRequestSchema, request)],
    });
    failpoint("devtool:postgres.inbox-put.after");
    this.#changes.announceEntry();
    return BigInt(rows[0]?.id ?? 0);
  }

  async takeReply(entry: bigint): Promise<InboxReply | undefined> {
    const { rows } = await query<ReplyRow>(this.#pool, {
      text: `DELETE FROM inbox WHERE id = $1 AND answered_at IS NOT NULL
        RETURNING sequence, ${bounded("refusal")} AS refusal`,
      values: [entry],
    });
    const [row] = rows;
    if (!row) return undefined;
    if (row.sequence !== null) {
      return { case: "taken", sequence: BigInt(row.sequence) };
    }
    return {
      case: "refused",
      refusal: fromBinary(InboxRefusalSchema, row.refusal ?? new Uint8Array()),
    };
  }

  async waiting(): Promise<readonly string[]> {
    const { rows } = await query<{ task_id: string }>(this.#pool, {
      text: `SELECT DISTINCT task_id FROM inbox JOIN task ON task.id = inbox.task_id
        WHERE answered_at IS NULL AND task.owner = $1`,
      values: [this.#leases.owner],
    });
    return rows.map(({ task_id }) => idOfKey(task_id));
  }

  async backlog(): ReturnType<TaskInbox["backlog"]> {
    const { rows } = await query<{ count: number; age: number }>(this.#pool, {
      text: `SELECT count(*)::integer AS count,
          coalesce(extract(epoch FROM clock_timestamp() - min(put_at)) * 1000, 0)::double precision AS age
        FROM inbox JOIN task ON task.id = inbox.task_id WHERE answered_at IS NULL AND task.owner = $1`,
      values: [this.#leases.owner],
    });
    const { count = 0, age = 0 } = rows[0] ?? {};
    return { count, oldestMs: Math.max(0, age) };
  }

  async next(taskId: string): Promise<InboxEntry | undefined> {
    const { rows } = await query<{ id: string; request: Buffer | null }>(
      this.#pool,
      {
        text: `SELECT id, ${bounded("request")} AS request FROM inbox
        WHERE task_id = $1 AND answered_at IS NULL ORDER BY id LIMIT 1`,
        values: [keyText(taskId)],
      },
    );
    const [row] = rows;
    if (!row) return undefined;
    const id = BigInt(row.id);
    try {
      return {
        id,
        request: fromBinary(
          InboxRequestSchema,
          row.request ?? new Uint8Array(),
        ),
      };
    } catch {
      // No server wrote this row. An empty request is refused, so that the row
      // does not stop those behind it.
      return { id, request: create(InboxRequestSchema) };
    }
  }

  async reply(
    taskId: string,
    entry: bigint,
    fence: bigint,
    reply: InboxReply,
  ): Promise<boolean> {
    failpoint("devtool:postgres.inbox-reply.before");
    const { rows } = await query(this.#pool, {
      text: `WITH mine AS (SELECT id FROM task WHERE id = $2 AND fence = $3 FOR UPDATE)
        UPDATE inbox SET sequence = $4, refusal = $5, answered_at = clock_timestamp()
        FROM mine WHERE inbox.id = $1 AND inbox.task_id = mine.id AND answered_at IS NULL RETURNING inbox.id`,
      values: [
        entry,
        keyText(taskId),
        fence,
        reply.case === "taken" ? reply.sequence : null,
        reply.case === "refused"
          ? toBinary(InboxRefusalSchema, reply.refusal)
          : null,
      ],
    });
    failpoint("devtool:postgres.inbox-reply.after");
    this.#changes.announce(taskId);
    return rows.length > 0;
  }

  watch(wake: () => void): Disposable {
    return this.#changes.watchInbox(wake);
  }
}
