import { Code } from "@connectrpc/connect";
import {
  createDevtoolClient,
  type DevtoolClient,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  type TaskEvent,
  TaskState,
  type WatchTasksResponse,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { beginTask } from "../tasks.ts";

describe("the title of a task", () => {
  let base: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  beforeEach(async () => {
    base = temporaryDirectory();
    server = await serveCodingAgent({ workspace: base });
    client = clientOf(server);
  });
  afterEach(() => server.close());

  it("is the first line of its message, and in lists with the workspace", async () => {
    const id = await beginTask(client, "text \u202eHello.\nsecond line");
    const { tasks } = await client.tasks.listTasks({
      titleContains: "HELLO",
      workspacePath: base,
    });
    expect(tasks).toMatchObject([
      { id, title: "text Hello.", workspacePath: base },
    ]);
    expect((await client.tasks.getTask({ taskId: id })).task?.title).toBe(
      "text Hello.",
    );
    expect(
      (await client.tasks.listTasks({ workspacePath: "/" })).tasks,
    ).toEqual([]);
    expect((await client.tasks.listTasks({ agent: "nobody" })).tasks).toEqual(
      [],
    );
    expect(
      (await client.tasks.listTasks({ idPrefix: id.slice(0, 8) })).tasks,
    ).toHaveLength(1);
  });

  it.each(["ended", "asking"])(
    "changes while the task is %s, which stays as it is, and the log says who did it",
    async (when) => {
      const id = await beginTask(
        client,
        when === "ended" ? "text One." : "write a.txt a",
      );
      const { task: before } = await client.tasks.getTask({ taskId: id });
      const { task } = await client.tasks.renameTask({
        taskId: id,
        title: " The\u0007 first \nx",
        clientLabel: "test",
      });
      expect(task).toMatchObject({
        title: "The first",
        state: before?.state,
        stateText: before?.stateText,
      });
      const again = await client.tasks.renameTask({
        taskId: id,
        title: "The first",
      });
      expect(again.task?.sequence).toBe(task?.sequence);
      const event = await eventAt(client, id, task?.sequence ?? 0n);
      const value = {
        title: "The first",
        principal: "local",
        clientLabel: "test",
      };
      expect(event.payload).toMatchObject({ case: "renamed", value });
      expect((await client.tasks.listTasks({})).tasks).toMatchObject([
        { id, title: "The first" },
      ]);
    },
  );

  it("lets a task that was renamed while it asks go on", async () => {
    const id = await beginTask(client, "write a.txt a");
    await client.tasks.renameTask({ taskId: id, title: "other" });
    const { task } = await client.tasks.cancelTask({ taskId: id });
    expect(task).toMatchObject({ title: "other", state: TaskState.CANCELED });
  });

  it.each([
    ["nothing to see", " \u200b\n", "has no visible character"],
    [
      "81 characters",
      "x".repeat(81),
      "is too long: it has 81 characters, limit is 80",
    ],
    ["megabytes", "x".repeat(2_000_000), "is too long"],
  ])("is refused with %s", async (_, title, problem) => {
    const taskId = await beginTask(client, "text One.");
    const refused = client.tasks.renameTask({ taskId, title });
    await expect(refused).rejects.toThrow(problem);
    await expect(refused).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(
      client.tasks.renameTask({ taskId: "unknown", title: "x" }),
    ).rejects.toMatchObject({
      code: Code.NotFound,
    });
  });

  it("reaches A2A clients of the extension with the event, and they cannot change or search it", async () => {
    const { url, token } = server;
    const a2a = createDevtoolClient(createA2aTransport({ url, token }));
    const { task } = await a2a.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "write a.txt a"),
    });
    const { task: renamed } = await client.tasks.renameTask({
      taskId: task?.id ?? "",
      title: "other",
    });
    const event = await eventAt(a2a, task?.id ?? "", renamed?.sequence ?? 0n);
    expect(event.payload).toMatchObject({
      case: "renamed",
      value: { title: "other" },
    });
    const unimplemented = { code: Code.Unimplemented };
    await expect(
      a2a.tasks.renameTask({ taskId: task?.id ?? "", title: "x" }),
    ).rejects.toMatchObject(unimplemented);
    await expect(
      a2a.tasks.listTasks({ titleContains: "x" }),
    ).rejects.toMatchObject(unimplemented);
  });

  it("decides which tasks a watch shows, and a task that leaves them is sent once more", async () => {
    const [one] = [
      await beginTask(client, "text keep"),
      await beginTask(client, "text else"),
    ];
    const controller = new AbortController();
    const signal = AbortSignal.any([
      controller.signal,
      AbortSignal.timeout(180_000),
    ]);
    const seen: WatchTasksResponse[] = [];
    const grpc = CLIENTS.gRPC(server);
    const watched = (async () => {
      for await (const response of grpc.tasks.watchTasks(
        { titleContains: "KEEP" },
        { signal },
      )) {
        seen.push(response);
        if (response.snapshotComplete && !response.task) {
          await client.tasks.renameTask({ taskId: one, title: "gone" });
        } else if (response.excluded) {
          await beginTask(client, "text keep two");
        } else if (response.task?.title === "text keep two") {
          return;
        }
      }
    })();
    await watched;
    controller.abort();
    expect(
      seen.slice(0, 3).map(({ task, excluded }) => [task?.title, excluded]),
    ).toEqual([
      ["text keep", false],
      [undefined, false],
      ["gone", true],
    ]);
    expect(seen.slice(3).map(({ task }) => task?.title)).toEqual(
      seen.slice(3).map(() => "text keep two"),
    );
  });
});

async function eventAt(
  client: DevtoolClient,
  taskId: string,
  sequence: bigint,
): Promise<TaskEvent> {
  for await (const event of subscribeTask(
    client,
    { taskId },
    AbortSignal.timeout(180_000),
  )) {
    if (event.sequence === sequence) return event;
  }
  throw new Error(`task ${taskId} has no event ${sequence}`);
}
