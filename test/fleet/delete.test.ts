import { Code } from "@connectrpc/connect";
import type { DevtoolClient } from "@devtool/client";
import { fetchKeySet } from "@devtool/client/testing";
import { AuditAction, TaskState } from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { begin, followed, Gates, LIMIT_MS, speaking } from "./agents.ts";
import { type Execute, type Replica, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

/** Room for the eight latest tasks of 10,000 bytes, and not for nine. */
const MAX_BYTES = 85_000;

/** Says 10,000 characters, or asks if it is told to. */
const sayMuch: Execute = async function* (turn, signal) {
  const text = JSON.stringify(turn.task.history[0]?.parts[0]?.content.value);
  if (text.includes("ask")) {
    const run = () => "done";
    yield* turn.call({ toolName: "act", ask: "May I?", run }, signal);
  }
  yield { case: "text", value: "x".repeat(10_000) };
};

describeWithPostgres("DeleteTask at a server of several", (database) => {
  const start = (): Promise<Replica> =>
    startReplica(database.url, "deleting", speaking(new Gates(0)));

  it("deletes a task that another one has open, and all servers know", async () => {
    await using one = await start();
    await using other = await start();
    const taskId = await begin(one, "go");
    await followed(one, taskId);
    const removals = [one, other].map(({ client }) => removed(client));
    await Promise.all(removals.map(({ isListening }) => isListening));
    await other.client.tasks.deleteTask({ taskId });
    for (const { id } of removals) expect(await id).toBe(taskId);
    for (const { client } of [one, other]) {
      await expect(client.tasks.getTask({ taskId })).rejects.toMatchObject({
        code: Code.NotFound,
      });
      await expect(client.tasks.deleteTask({ taskId })).rejects.toMatchObject({
        code: Code.NotFound,
      });
      expect((await client.tasks.listTasks({})).tasks).toEqual([]);
    }
    const records = await Array.fromAsync(one.store.readAudit(0n));
    expect(records.at(-1)).toMatchObject({
      action: AuditAction.TASK_DELETED,
      taskId,
    });
    // The keys are those of all servers.
    const keys = await fetchKeySet(
      `${one.server.url}/.well-known/jwks.json`,
      AbortSignal.timeout(LIMIT_MS),
    );
    const { deleted } = await verifyAudit(one.store.readAudit(0n), { keys });
    expect(deleted.at(-1)).toMatchObject({ taskId, isVerified: true });
    expect([...one.errors, ...other.errors]).toEqual([]);
  });

  it("is done once when all servers delete the same tasks at the same time", async () => {
    await using one = await start();
    await using other = await start();
    const tasks = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const taskId = await begin(one, "go");
        await followed(one, taskId);
        return taskId;
      }),
    );
    const outcomes = await Promise.all(
      tasks.flatMap((taskId) =>
        [one, other].map(({ client }) =>
          client.tasks.deleteTask({ taskId }).then(
            () => "deleted",
            (reason: { code: Code }) => Code[reason.code] ?? "",
          ),
        ),
      ),
    );
    const deleted = outcomes.filter((outcome) => outcome === "deleted");
    expect(deleted).toHaveLength(20);
    const others = new Set(outcomes.filter((each) => each !== "deleted"));
    expect([...others].every((each) => /^(NotFound|Aborted)$/.test(each))).toBe(
      true,
    );
    const verdict = await verifyAudit(other.store.readAudit(0n));
    expect(verdict.fault).toBeUndefined();
    expect(
      verdict.deleted.filter(({ taskId }) => tasks.includes(taskId)),
    ).toHaveLength(20);
  });

  it("leaves no reader of a task waiting, whichever server has it", async () => {
    await using one = await start();
    await using other = await start();
    const taskId = await begin(one, "go");
    await followed(one, taskId);
    const signal = AbortSignal.timeout(LIMIT_MS);
    const read = async ({ client }: Replica): Promise<Code | undefined> => {
      // A client that has gone as far as the task and waits for more.
      try {
        for await (const _event of client.tasks.subscribeTask(
          { taskId, afterSequence: 1n },
          { signal },
        ));
        return undefined;
      } catch (reason) {
        return reason instanceof Error && "code" in reason
          ? Number(reason.code)
          : Code.Unknown;
      }
    };
    const reading = [read(one), read(other)];
    await other.client.tasks.deleteTask({ taskId });
    for (const outcome of await Promise.all(reading)) {
      expect([undefined, Code.NotFound]).toContain(outcome);
    }
  });
});

describeWithPostgres(
  "retention at three servers of a database",
  (database) => {
    it("deletes what is over the size once, and nothing else, when all look at the same time", {
      timeout: 2 * LIMIT_MS,
    }, async () => {
      const start = (): Promise<Replica> =>
        startReplica(database.url, "retained", sayMuch, {
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

/** Listens for the first task that a list loses. */
function removed(client: DevtoolClient) {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const listening = Promise.withResolvers<void>();
  const id = (async (): Promise<string> => {
    for await (const {
      task,
      removed,
      snapshotComplete,
    } of client.tasks.watchTasks({}, { signal })) {
      if (snapshotComplete) listening.resolve();
      if (removed) return task?.id ?? "";
    }
    return "";
  })();
  return { isListening: listening.promise, id };
}
