import { Code } from "@connectrpc/connect";
import type { DevtoolClient } from "@devtool/client";
import { fetchKeySet } from "@devtool/client/testing";
import { AuditAction } from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { expect, it } from "vitest";
import { begin, followed, Gates, LIMIT_MS, speaking } from "./agents.ts";
import { type Replica, startReplica } from "./replicas.ts";
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
