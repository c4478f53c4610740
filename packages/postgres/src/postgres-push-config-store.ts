import { create, toBinary } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import {
  type PushProgress,
  PushProgressSchema,
  type PushSubscription,
  PushSubscriptionSchema,
} from "@devtool/schema";
import {
  assertRoomForConfig,
  type PushConfigKey,
  type PushConfigStore,
  pushConfigKey,
} from "@devtool/server/store";
import type { Pool, PoolClient } from "pg";
import { query } from "./connection.ts";
import { idOfKey, keyText } from "./key-text.ts";
import { storeError } from "./postgres-error.ts";
import { bounded, decodeStored } from "./stored-value.ts";

/** The number of rows to read at a time. */
const PAGE = 256;

/** The columns of a `SubscriptionRow`. */
const COLUMNS = `${bounded("subscription")} AS subscription, ${bounded("progress")} AS progress`;

/** Progress that waits for the next commit. */
interface Save {
  readonly key: PushConfigKey;
  readonly progress: PushProgress;
  readonly fence: bigint;
  readonly committed: PromiseWithResolvers<void>;
}

/** A row with a subscription and its progress. */
interface SubscriptionRow {
  readonly [column: string]: unknown;
  readonly subscription: Buffer | null;
  readonly progress: Buffer | null;
}

/**
 * Saves the progress of configs whose task has the fence of the save: one row
 * for each config.
 *
 * A save that waits for the row may see the fence of before. It does not take
 * back what another server delivered meanwhile.
 */
const SAVE_PROGRESS = `
  UPDATE push_config SET active = saved.active, progress = saved.progress, position = saved.position
  FROM unnest($1::text[], $2::text[], $3::boolean[], $4::bytea[], $5::bigint[], $6::bigint[])
    AS saved (task_id, config_id, active, progress, position, fence)
  WHERE push_config.task_id = saved.task_id AND push_config.config_id = saved.config_id
    AND push_config.position <= saved.position
    AND saved.fence = coalesce((SELECT fence FROM task WHERE id = saved.task_id), 0)`;

/**
 * Keeps push configs beside the tasks. Saves of progress that arrive while
 * others are written share the next statement.
 */
export class PostgresPushConfigStore implements PushConfigStore {
  readonly #pool: Pool;
  #queue: Save[] = [];
  #saving: Promise<void> | undefined;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async put(subscription: PushSubscription): Promise<PushSubscription> {
    let client: PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      await client.query("BEGIN");
      const stored = await putSubscription(client, subscription);
      failpoint("devtool:postgres.push-put.before");
      await client.query("COMMIT");
      failpoint("devtool:postgres.push-put.after");
      return stored;
    } catch (reason) {
      await client?.query("ROLLBACK").catch(() => undefined);
      throw storeError(reason);
    } finally {
      client?.release();
    }
  }

  async get({
    taskId,
    configId,
  }: PushConfigKey): Promise<PushSubscription | undefined> {
    const { rows } = await query<SubscriptionRow>(this.#pool, {
      text: `SELECT ${COLUMNS} FROM push_config WHERE task_id = $1 AND config_id = $2`,
      values: [keyText(taskId), keyText(configId)],
    });
    return rows[0] && decodeSubscription(rows[0]);
  }

  async list(taskId: string): Promise<readonly PushSubscription[]> {
    const { rows } = await query<SubscriptionRow>(this.#pool, {
      text: `SELECT ${COLUMNS} FROM push_config WHERE task_id = $1 ORDER BY id`,
      values: [keyText(taskId)],
    });
    return rows.map(decodeSubscription);
  }

  async *activeTasks(): AsyncIterable<string> {
    let last = "";
    for (;;) {
      const { rows } = await query<{ task_id: string }>(this.#pool, {
        text: "SELECT DISTINCT task_id FROM push_config WHERE active AND task_id > $1 ORDER BY task_id LIMIT $2",
        values: [last, PAGE],
      });
      for (const { task_id } of rows) yield idOfKey(task_id);
      if (rows.length < PAGE) return;
      last = rows.at(-1)?.task_id ?? last;
    }
  }

  saveProgress(
    key: PushConfigKey,
    progress: PushProgress,
    fence = 0n,
  ): Promise<void> {
    const committed = Promise.withResolvers<void>();
    this.#queue.push({ key, progress, fence, committed });
    this.#saving ??= this.#saveQueue();
    return committed.promise;
  }

  async delete({ taskId, configId }: PushConfigKey): Promise<void> {
    failpoint("devtool:postgres.push-delete.before");
    await query(this.#pool, {
      text: "DELETE FROM push_config WHERE task_id = $1 AND config_id = $2",
      values: [keyText(taskId), keyText(configId)],
    });
    failpoint("devtool:postgres.push-delete.after");
  }

  /** Resolves when all saves so far are written. */
  async settle(): Promise<void> {
    await this.#saving;
  }

  async #saveQueue(): Promise<void> {
    // Saves of one turn of the event loop share a statement.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const saves = this.#queue;
      this.#queue = [];
      // The last progress of each config. A statement must not change a row
      // twice.
      const byConfig = new Map(
        saves.map((save) => [
          JSON.stringify([save.key.taskId, save.key.configId]),
          save,
        ]),
      );
      const last = [...byConfig.values()];
      try {
        failpoint("devtool:postgres.push-save.before");
        const values = [
          last.map(({ key }) => keyText(key.taskId)),
          last.map(({ key }) => keyText(key.configId)),
          last.map(({ progress }) => progress.endedReason === ""),
          last.map(({ progress }) => toBinary(PushProgressSchema, progress)),
          last.map(({ progress }) => progress.cursor),
          last.map(({ fence }) => fence),
        ];
        await query(this.#pool, { text: SAVE_PROGRESS, values });
        failpoint("devtool:postgres.push-save.after");
        for (const { committed } of saves) committed.resolve();
      } catch (reason) {
        for (const { committed } of saves) committed.reject(reason);
      }
    }
    this.#saving = undefined;
  }
}

async function putSubscription(
  client: PoolClient,
  subscription: PushSubscription,
): Promise<PushSubscription> {
  const { taskId, configId } = pushConfigKey(subscription);
  // One server at a time adds to a task, so that none exceeds the maximum.
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
    keyText(taskId),
  ]);
  const { rows } = await client.query<{
    config_id: string;
    progress: Buffer | null;
  }>(
    `SELECT config_id, ${bounded("progress")} AS progress FROM push_config WHERE task_id = $1`,
    [keyText(taskId)],
  );
  const before = rows.find((row) => row.config_id === keyText(configId));
  if (!before) assertRoomForConfig(rows.length);
  const { progress: given = create(PushProgressSchema), ...kept } =
    subscription;
  const cursor =
    before &&
    decodeStored(PushProgressSchema, before.progress, "push_config").cursor;
  const progress =
    cursor === undefined ? given : create(PushProgressSchema, { cursor });
  await client.query(
    `INSERT INTO push_config (task_id, config_id, active, subscription, progress, position)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (task_id, config_id) DO UPDATE SET active = excluded.active, subscription = excluded.subscription,
       progress = excluded.progress, position = excluded.position`,
    [
      keyText(taskId),
      keyText(configId),
      progress.endedReason === "",
      toBinary(PushSubscriptionSchema, kept),
      toBinary(PushProgressSchema, progress),
      progress.cursor,
    ],
  );
  return { ...subscription, progress };
}

function decodeSubscription({
  subscription,
  progress,
}: SubscriptionRow): PushSubscription {
  return {
    ...decodeStored(PushSubscriptionSchema, subscription, "push_config"),
    progress: decodeStored(PushProgressSchema, progress, "push_config"),
  };
}
