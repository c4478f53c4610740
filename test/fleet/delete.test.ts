import { Code } from "@connectrpc/connect";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { fetchKeySet } from "@devtool/client/testing";
import { AuditAction } from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { expect, it } from "vitest";
import { KILL_ORDER } from "../durability/failpoints/kill-at.ts";
import { begin, followed, Gates, LIMIT_MS, speaking } from "./agents.ts";
import { type Replica, startReplica } from "./replicas.ts";
import { ServerFleet } from "./server-fleet.ts";
import { describeWithPostgres } from "./with-postgres.ts";

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
  "a server of several that is killed at DeleteTask",
  (database) => {
    it.each([
      "devtool:postgres.delete.before",
      "devtool:postgres.delete.after",
    ])(
      "leaves a whole task or nothing of it, at %s",
      { timeout: 3 * LIMIT_MS },
      async (failpoint) => {
        const schema = `killed_${failpoint.at(-1)}`;
        await using fleet = await ServerFleet.start({
          ...{ database, schema, replicas: 2 },
          loaded: new URL(
            "../durability/failpoints/kill-at.ts",
            import.meta.url,
          ),
        });
        const client = fleet.client(0);
        const message = textMessage(crypto.randomUUID(), "read missing.txt");
        const { task } = await client.tasks.sendMessage({ message });
        const { id: taskId = "" } = task ?? {};
        await fleet.server(1).kill();
        const order = { failpoint, passage: 1, from: "start" };
        process.env[KILL_ORDER] = JSON.stringify(order);
        try {
          await fleet.launch(1);
        } finally {
          delete process.env[KILL_ORDER];
        }
        const { ended } = fleet.server(1);
        const deleting = fleet.client(1).tasks.deleteTask({ taskId });
        await expect(deleting).rejects.toThrow();
        await ended;
        const isDone = failpoint.endsWith("after");
        const { tasks } = await client.tasks.listTasks({ idPrefix: taskId });
        expect(tasks).toHaveLength(isDone ? 0 : 1);
        for (const table of ["event", "label", "message", "audit_shown"]) {
          const rows = await fleet.rows("1", table, `task_id = '${taskId}'`);
          expect([table, rows.length > 0]).toEqual([table, !isDone]);
        }
        async function* records() {
          for await (const { record } of client.audit.readAudit({})) {
            if (record) yield record;
          }
        }
        const { fault, deleted } = await verifyAudit(records());
        expect(fault).toBeUndefined();
        expect(deleted).toHaveLength(isDone ? 1 : 0);
        // Once more, by the server that lives.
        const again = client.tasks.deleteTask({ taskId }).then(
          () => "deleted",
          (reason: { code: Code }) => Code[reason.code],
        );
        expect(await again).toBe(isDone ? "NotFound" : "deleted");
      },
    );
  },
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
