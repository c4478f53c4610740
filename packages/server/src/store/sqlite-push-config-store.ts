import type { DatabaseSync } from "node:sqlite";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
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
} from "./push-config-store.ts";

/**
 * The table of push configs, in the same file as the tasks. Row ids preserve
 * the order in which configs were stored.
 */
export const PUSH_SCHEMA: string = `
  CREATE TABLE IF NOT EXISTS push_config (
    task_id TEXT NOT NULL, config_id TEXT NOT NULL, active INTEGER NOT NULL,
    subscription BLOB NOT NULL, progress BLOB NOT NULL,
    PRIMARY KEY (task_id, config_id)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS push_config_active ON push_config (task_id) WHERE active = 1;
`;

/**
 * The number of rows to read at a time, so that no statement stays open while a
 * reader waits.
 */
const PAGE = 256;

/** Progress that waits for the next commit. */
interface Save {
  readonly key: PushConfigKey;
  readonly progress: PushProgress;
  readonly committed: PromiseWithResolvers<void>;
}

/**
 * Keeps push configs in the SQLite file of the tasks. Saves of progress in one
 * turn of the event loop share a commit.
 */
export class SqlitePushConfigStore implements PushConfigStore {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  #queue: Save[] = [];

  /** @param database has the tables of `PUSH_SCHEMA`; the caller closes it */
  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statements = prepareStatements(database);
  }

  async put(subscription: PushSubscription): Promise<PushSubscription> {
    const key = pushConfigKey(subscription);
    return this.#transaction(() => {
      const before = this.#read(key)?.progress;
      const count = Number(this.#statements.count.get(key.taskId)?.count);
      if (!before) assertRoomForConfig(count);
      const { progress: given = create(PushProgressSchema), ...kept } =
        subscription;
      const progress = before
        ? create(PushProgressSchema, { cursor: before.cursor })
        : given;
      const active = Number(progress.endedReason === "");
      const data = toBinary(PushSubscriptionSchema, kept);
      failpoint("devtool:push-config.put.before");
      this.#statements.put.run(
        key.taskId,
        key.configId,
        active,
        data,
        toBinary(PushProgressSchema, progress),
      );
      failpoint("devtool:push-config.put.after");
      return { ...subscription, progress };
    });
  }

  async get(key: PushConfigKey): Promise<PushSubscription | undefined> {
    return this.#read(key);
  }

  async list(taskId: string): Promise<readonly PushSubscription[]> {
    return this.#statements.list.all(taskId).map(decodeSubscription);
  }

  async *activeTasks(): AsyncIterable<string> {
    let last = "";
    for (;;) {
      const rows = this.#statements.active.all(last, PAGE);
      const ids = rows.map(({ task_id }) => String(task_id));
      yield* ids;
      if (rows.length < PAGE) return;
      last = ids.at(-1) ?? last;
    }
  }

  saveProgress(key: PushConfigKey, progress: PushProgress): Promise<void> {
    const committed = Promise.withResolvers<void>();
    if (this.#queue.length === 0) setImmediate(() => this.#flush());
    this.#queue.push({ key, progress, committed });
    return committed.promise;
  }

  async delete({ taskId, configId }: PushConfigKey): Promise<void> {
    failpoint("devtool:push-config.delete.before");
    this.#statements.remove.run(taskId, configId);
    failpoint("devtool:push-config.delete.after");
  }

  #flush(): void {
    const queue = this.#queue;
    this.#queue = [];
    try {
      this.#transaction(() => {
        failpoint("devtool:push-config.save.before");
        for (const { key, progress } of queue) {
          const active = Number(progress.endedReason === "");
          this.#statements.save.run(
            active,
            toBinary(PushProgressSchema, progress),
            key.taskId,
            key.configId,
          );
        }
        failpoint("devtool:push-config.save.after");
      });
      for (const { committed } of queue) committed.resolve();
    } catch (reason) {
      for (const { committed } of queue) committed.reject(reason);
    }
  }

  #transaction<T>(run: () => T): T {
    failpoint("devtool:push-config.begin.before");
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = run();
      failpoint("devtool:push-config.commit.before");
      this.#database.exec("COMMIT");
      failpoint("devtool:push-config.commit.after");
      return result;
    } catch (reason) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw reason;
    }
  }

  #read({ taskId, configId }: PushConfigKey): PushSubscription | undefined {
    const row = this.#statements.get.get(taskId, configId);
    return row && decodeSubscription(row);
  }
}

function decodeSubscription({
  subscription,
  progress,
}: Readonly<Record<string, unknown>>): PushSubscription {
  const bytes = (value: unknown): Uint8Array =>
    value instanceof Uint8Array ? value : new Uint8Array();
  const stored = fromBinary(PushSubscriptionSchema, bytes(subscription));
  return {
    ...stored,
    progress: fromBinary(PushProgressSchema, bytes(progress)),
  };
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
  return {
    put: database.prepare(
      "INSERT INTO push_config (task_id, config_id, active, subscription, progress) VALUES (?, ?, ?, ?, ?)" +
        " ON CONFLICT (task_id, config_id) DO UPDATE SET active = excluded.active," +
        " subscription = excluded.subscription, progress = excluded.progress",
    ),
    get: database.prepare(
      "SELECT subscription, progress FROM push_config WHERE task_id = ? AND config_id = ?",
    ),
    list: database.prepare(
      "SELECT subscription, progress FROM push_config WHERE task_id = ? ORDER BY rowid",
    ),
    count: database.prepare(
      "SELECT count(*) AS count FROM push_config WHERE task_id = ?",
    ),
    active: database.prepare(
      "SELECT DISTINCT task_id FROM push_config WHERE active = 1 AND task_id > ? ORDER BY task_id LIMIT ?",
    ),
    save: database.prepare(
      "UPDATE push_config SET active = ?, progress = ? WHERE task_id = ? AND config_id = ?",
    ),
    remove: database.prepare(
      "DELETE FROM push_config WHERE task_id = ? AND config_id = ?",
    ),
  };
}
