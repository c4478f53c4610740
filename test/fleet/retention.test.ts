import { TaskState } from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { begin, followed, LIMIT_MS } from "./agents.ts";
import { type Execute, type Replica, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

/** Room for the eight latest tasks of 10,000 bytes, and not for nine. */
const MAX_BYTES = 85_000;

/** Says 10,000 characters, or asks if it is told to. */
const execute: Execute = async function* (turn, signal) {
  const text = JSON.stringify(turn.task.history[0]?.parts[0]?.content.value);
  if (text.includes("ask")) {
    const run = () => "done";
    yield* turn.call({ toolName: "act", ask: "May I?", run }, signal);
  }
  yield { case: "text", value: "x".repeat(10_000) };
};

describeWithPostgres(
  "retention at three servers of a database",
  (database) => {
    it("deletes what is over the size once, and nothing else, when all look at the same time", {
      timeout: 2 * LIMIT_MS,
    }, async () => {
      const start = (): Promise<Replica> =>
        startReplica(database.url, "retained", execute, {
          retention: { maxBytes: MAX_BYTES },
        });
      await using stack = new AsyncDisposableStack();
      const fleet = await Promise.all([start(), start(), start()]);
      for (const each of fleet) stack.use(each);
      const [one, two] = fleet;
      if (!one || !two) throw new Error("no servers");
      const isEnd = (state: TaskState) => (event: { state: TaskState }) =>
        event.state === state;
      const waits = await begin(one, "ask");
      await followed(one, waits, isEnd(TaskState.INPUT_REQUIRED));
      const ids: string[] = [];
      for (let at = 0; at < 20; at++) {
        const server = fleet[at % 3] ?? one;
        const id = await begin(server, `go ${at}`);
        await followed(server, id, isEnd(TaskState.COMPLETED));
        ids.push(id);
      }
      const left = async (): Promise<string[]> => {
        const { tasks } = await two.client.tasks.listTasks({});
        return tasks.map(({ id }) => id).toSorted();
      };
      const kept = [waits, ...ids.slice(-8)].toSorted();
      expect(await left()).toHaveLength(21);
      // The first look is a minute after the start.
      await expect.poll(left, { timeout: LIMIT_MS }).toEqual(kept);
      // A server that closes waits for its look.
      for (const each of [...fleet].slice(1)) await each.server.close();
      const { fault, deleted } = await verifyAudit(one.store.readAudit(0n));
      expect(fault).toBeUndefined();
      expect(deleted.map(({ taskId }) => taskId).toSorted()).toEqual(
        ids.slice(0, 12).toSorted(),
      );
      expect(new Set(deleted.map(({ by }) => by))).toEqual(
        new Set(["retention.max_size_mb"]),
      );
      expect(fleet.flatMap(({ errors }) => errors)).toEqual([]);
    });
  },
  LEFT_TO_CI,
);
