import { textMessage } from "@devtool/client";
import { expect, it } from "vitest";
import { begin, followed, Gates, LIMIT_MS, speaking } from "./agents.ts";
import { type Execute, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

describeWithPostgres(
  "a server that has lost a task and does not know it",
  (database) => {
    let schemas = 0;

    const nextSchema = () => `lost_${++schemas}`;

    /** Gives a task to another server, which lives and does nothing. */
    async function steal(schema: string, taskId: string): Promise<void> {
      await database.run(
        `INSERT INTO ${schema}.replica VALUES ('thief', clock_timestamp() + interval '1 day')`,
      );
      await database.run(
        `UPDATE ${schema}.task SET owner = 'thief', fence = fence + 1 WHERE id = '${taskId}'`,
      );
    }

    it("ends its agent when an append is refused, and not at the agent's next event", async () => {
      const schema = nextSchema();
      const words = new Gates(2);
      const aborted = Promise.withResolvers<unknown>();
      await using one = await startReplica(
        database.url,
        schema,
        speaking(words, aborted),
      );
      const taskId = await begin(one, "go");
      await steal(schema, taskId);
      // The agent says a word, which is refused, and then waits for the second
      // gate, which nobody opens.
      words.open();
      expect(await aborted.promise).toMatchObject({
        message: expect.stringContaining("has moved to another server"),
      });
    });

    it("ends the tool that runs when a request comes, and asks the server that has the task", async () => {
      const schema = nextSchema();
      const { execute, runs, aborted } = runningTool();
      await using one = await startReplica(database.url, schema, execute);
      const taskId = await begin(one, "go");
      await followed(one, taskId, () => runs.length > 0);
      await steal(schema, taskId);
      const sent = one.client.tasks.sendMessage({
        message: textMessage("m2", "more"),
        taskId,
      });
      expect(await aborted).toMatchObject({
        message: expect.stringContaining("has moved to another server"),
      });
      const waiting = () => database.run(`SELECT id FROM ${schema}.inbox`);
      await expect.poll(waiting, { timeout: LIMIT_MS }).toHaveLength(1);
      await database.run(`DELETE FROM ${schema}.replica WHERE id = 'thief'`);
      const { task } = await sent;
      expect(
        task?.history.filter(({ messageId }) => messageId === "m2"),
      ).toHaveLength(1);
      // The call had begun, so it did not run again.
      expect(runs).toEqual([taskId]);
    });
  },
);

/**
 * An agent whose one call runs until it is aborted. Turns after it end at once.
 */
function runningTool(): {
  execute: Execute;
  runs: string[];
  aborted: Promise<unknown>;
} {
  const runs: string[] = [];
  const aborted = Promise.withResolvers<unknown>();
  const execute: Execute = async function* (turn, signal) {
    if (runs.length > 0) return;
    const run = (): Promise<string> =>
      new Promise((_resolve, reject) => {
        runs.push(turn.task.id);
        signal.addEventListener("abort", () => reject(signal.reason), {
          once: true,
        });
        signal.addEventListener("abort", () => aborted.resolve(signal.reason), {
          once: true,
        });
      });
    yield* turn.call({ toolName: "act", run }, signal);
  };
  return { execute, runs, aborted: aborted.promise };
}
