import { PostgresStore } from "@devtool/postgres";
import { type TaskEvent, TaskState } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server";
import { expect, it } from "vitest";
import { begin, followed, Gates, LIMIT_MS, speaking } from "./agents.ts";
import { type Execute, LEASE_MS, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

describeWithPostgres(
  "a task of a server that is gone, whose log another one cannot read",
  (database) => {
    it("goes on when the log can be read again, without a request", async () => {
      await using _other = await startReplica(database.url, "again", silent, {
        openStore: () => openFlaky(database.url, "again"),
      });
      const taskId = await leftBehind("again");
      const state = () =>
        database.run(`SELECT state FROM again.task WHERE id = '${taskId}'`);
      await expect
        .poll(state, { timeout: LIMIT_MS })
        .toEqual([{ state: TaskState.INPUT_REQUIRED }]);
    });

    it("belongs to no server when the log is damaged, so that any may have it once it is restored", async () => {
      const taskId = await leftBehind("damaged");
      await database.run(
        `UPDATE damaged.event SET data = '\\xff' WHERE task_id = '${taskId}' AND sequence > 1`,
      );
      await using other = await startReplica(database.url, "damaged", silent);
      await expect(
        other.client.tasks.getTask({ taskId }),
      ).rejects.toMatchObject({ code: Code.DataLoss });
      const owner = () =>
        database.run(`SELECT owner FROM damaged.task WHERE id = '${taskId}'`);
      await expect
        .poll(owner, { timeout: LIMIT_MS })
        .toEqual([{ owner: null }]);
    });

    /**
     * Leaves a task that works, as a server does that is killed, and returns
     * its id.
     */
    async function leftBehind(schema: string): Promise<string> {
      const words = new Gates(2);
      words.open();
      await using one = await startReplica(
        database.url,
        schema,
        speaking(words),
      );
      const taskId = await begin(one, "go");
      await followed(one, taskId, ({ payload }) => payload.case === "text");
      await database.run(
        `INSERT INTO ${schema}.replica VALUES ('thief', clock_timestamp() + interval '1 day')`,
      );
      await database.run(
        `UPDATE ${schema}.task SET owner = 'thief', fence = fence + 1 WHERE id = '${taskId}'`,
      );
      await one[Symbol.asyncDispose]();
      await database.run(`DELETE FROM ${schema}.replica WHERE id = 'thief'`);
      return taskId;
    }
  },
);

const silent: Execute = async function* () {};

/**
 * Opens a store that cannot read a log once, after the first look at where its
 * task works.
 */
async function openFlaky(url: string, schema: string): Promise<PostgresStore> {
  const store = await PostgresStore.open({ url, schema, leaseMs: LEASE_MS });
  const read = store.readEvents.bind(store);
  let reads = 0;
  store.readEvents = async function* (
    taskId: string,
    after: bigint,
  ): AsyncIterable<TaskEvent> {
    if (++reads === 2) {
      throw new DevtoolError("the database is gone", Code.Unavailable);
    }
    yield* read(taskId, after);
  };
  return store;
}
