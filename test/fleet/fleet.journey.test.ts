import { Code } from "@connectrpc/connect";
import { subscribeTask, textMessage } from "@devtool/client";
import { PostgresStore } from "@devtool/postgres";
import { isTerminal, type TaskEvent, TaskState } from "@devtool/schema";
import { expect, it } from "vitest";
import {
  begin,
  followed,
  Gates,
  LIMIT_MS,
  speaking,
  textOf,
} from "./agents.ts";
import { type Execute, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

describeWithPostgres("servers that share a database", (database) => {
  let schemas = 0;

  const nextSchema = () => `fleet_${++schemas}`;
  const start = (schema: string, execute: Execute) =>
    startReplica(database.url, schema, execute);

  it("stream a task that another one runs, live and without a gap", async () => {
    const schema = nextSchema();
    const words = new Gates(200);
    await using one = await start(schema, speaking(words));
    await using other = await start(schema, speaking(new Gates(0)));
    const taskId = await begin(one, "go");
    const seen: TaskEvent[] = [];
    for await (const event of subscribeTask(
      other.client,
      { taskId },
      AbortSignal.timeout(LIMIT_MS),
    )) {
      seen.push(event);
      // Each word is said only after the one before was seen at the other
      // server.
      if (event.payload.case === "text") words.open();
      if (event.payload.case === "created") words.open();
    }
    expect(seen.map(({ sequence }) => Number(sequence))).toEqual(
      seen.map((_, index) => index + 1),
    );
    expect(textOf(seen)).toBe(
      Array.from({ length: 200 }, (_, at) => `${at} `).join(""),
    );
    expect(isTerminal(seen.at(-1)?.state ?? TaskState.UNSPECIFIED)).toBe(true);
    const { task } = await other.client.tasks.getTask({ taskId });
    expect(task?.state).toBe(TaskState.COMPLETED);
  });

  it("go on with the tasks of one that stops", async () => {
    const schema = nextSchema();
    const one = await start(schema, speaking(new Gates(1)));
    await using other = await start(schema, speaking(new Gates(0)));
    const taskId = await begin(one, "go");
    const seen = followed(other, taskId);
    await one.server.close();
    const events = await seen;
    expect(events.at(-1)?.state).toBe(TaskState.INPUT_REQUIRED);
    const after = await other.client.tasks.sendMessage({
      message: textMessage("m2", "go on"),
      taskId,
    });
    expect(after.task?.state).toBe(TaskState.COMPLETED);
    expect(other.errors).toEqual([]);
  });

  it("stop the agent of one that lost a task, and keep nothing that it does after", async () => {
    const schema = nextSchema();
    const words = new Gates(100);
    const aborted = Promise.withResolvers<unknown>();
    await using one = await start(schema, speaking(words, aborted));
    // A store without a server, which would look for the task itself.
    await using other = await PostgresStore.open({
      url: database.url,
      schema,
    });
    const taskId = await begin(one, "go");
    words.open();
    await followed(one, taskId, (event) => event.payload.case === "text");
    const opened = Promise.withResolvers<undefined>();
    const stream = followed(one, taskId, () => {
      opened.resolve(undefined);
      return false;
    });
    // Opened later, it would be the stream of a task that another server has,
    // which goes on.
    await opened.promise;
    const cut = expect(stream).rejects.toMatchObject({
      code: Code.Unavailable,
    });
    // At once: the server would take an orphan of its own again.
    await database.run(
      `WITH thief AS (
        INSERT INTO ${schema}.replica VALUES ('thief', clock_timestamp() + interval '1 day')
      ), lost AS (
        UPDATE ${schema}.replica SET alive_until = clock_timestamp() WHERE id = '${one.store.shared.leases.owner}'
      ) UPDATE ${schema}.task SET owner = 'thief', fence = fence + 1 WHERE id = '${taskId}'`,
    );
    words.open();
    await cut;
    await aborted.promise;
    const [row] = await database.run(
      `SELECT sequence, fence FROM ${schema}.task WHERE id = '${taskId}'`,
    );
    const log = await Array.fromAsync(other.readEvents(taskId, 0n));
    expect(textOf(log)).toBe("0 ");
    expect(row).toEqual({ sequence: String(log.length), fence: "2" });
    // Whoever asks the server that lost it sees what the log has.
    expect((await one.client.tasks.getTask({ taskId })).task?.sequence).toBe(
      BigInt(log.length),
    );
  });

  it("continue one conversation, whichever server has its tasks", async () => {
    const schema = nextSchema();
    await using one = await start(schema, speaking(new Gates(0)));
    await using other = await start(schema, speaking(new Gates(0)));
    const { task } = await one.client.tasks.sendMessage({
      message: textMessage("m1", "hello"),
    });
    const contextId = task?.contextId ?? "";
    const next = await other.client.tasks.sendMessage({
      message: textMessage("m2", "again"),
      contextId,
    });
    expect(next.task?.contextId).toBe(contextId);
    const again = await one.client.tasks.sendMessage({
      message: textMessage("m2", "again"),
      contextId,
    });
    expect([again.task?.id, again.replay?.messageId]).toEqual([
      next.task?.id,
      "m2",
    ]);
    const { tasks } = await one.client.tasks.listTasks({ contextId });
    expect(tasks.map(({ id }) => id)).toEqual([next.task?.id, task?.id]);
  });
});
