import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Code } from "@connectrpc/connect";
import { createTaskView, type DevtoolClient } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { beginTask } from "../tasks.ts";

const DAMAGED = /the log of the task is damaged/;

describe("a row of the store that is damaged", () => {
  let base: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  let errors: unknown[];

  beforeEach(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    await start();
  });
  afterEach(() => server.close());

  it("costs its task and no list: the list says which one is damaged, and what it was", async () => {
    const [lost, kept] = [
      await beginTask(client, "text lost"),
      await beginTask(client, "text kept"),
    ];
    await damage(lost);
    const { tasks } = await client.tasks.listTasks({});
    expect(tasks.map(({ id, title }) => [id, title])).toEqual([
      [kept, "text kept"],
      [lost, "text lost"],
    ]);
    const last = tasks[1]?.lastEvent;
    expect([last?.state, last?.payload.case]).toEqual([
      TaskState.COMPLETED,
      "notice",
    ]);
    expect(last?.payload.value).toMatchObject({
      text: expect.stringMatching(DAMAGED),
    });
    await expect(client.tasks.getTask({ taskId: lost })).rejects.toMatchObject({
      code: Code.DataLoss,
    });
    const page = await client.tasks.listTasks({
      pageSize: 1,
      pageToken: (await pageOf(1)).nextPageToken,
    });
    expect(page.tasks.map(({ id }) => id)).toEqual([lost]);
  });

  it.each([
    ["0.3", "/v1/tasks"],
    ["1.0", "/tasks"],
  ])(
    "costs no list over A2A %s, also one with the history of each task",
    async (version, path) => {
      const [lost, kept] = [
        await beginTask(client, "text lost"),
        await beginTask(client, "text kept"),
      ];
      await damage(lost);
      for (const [query, says] of [
        ["", false],
        ["?historyLength=5&includeArtifacts=true", true],
      ] as const) {
        const headers = {
          authorization: `Bearer ${server.token}`,
          "A2A-Version": version,
        };
        const response = await fetch(`${server.url}${path}${query}`, {
          headers,
        });
        const listed = await response.text();
        expect(
          [response.status, listed.includes(lost), listed.includes(kept)],
          listed,
        ).toEqual([200, true, true]);
        expect(listed.includes("restore the store from a backup")).toBe(says);
      }
    },
  );

  it("of a task that was at work when the server stopped keeps no server from starting", async () => {
    const [taskId, other] = [
      await beginTask(client, "text lost"),
      await beginTask(client, "run touch other"),
    ];
    // As a kill leaves it.
    await damage(taskId, TaskState.WORKING);
    expect(errors).toMatchObject([
      { code: Code.DataLoss, message: expect.stringContaining(taskId) },
    ]);
    expect((await client.tasks.getTask({ taskId: other })).task?.state).toBe(
      TaskState.INPUT_REQUIRED,
    );
  });

  it("of a task that asks keeps no answer from another one that is not named", async () => {
    const [lost, kept] = [
      await beginTask(client, "run touch lost"),
      await beginTask(client, "run touch kept"),
    ];
    const view = createTaskView(client, { taskId: kept });
    const leave = new AbortController();
    const following = view.follow(leave.signal).catch(() => undefined);
    await expect
      .poll(() => view.snapshot().questions.length, { timeout: 60_000 })
      .toBe(1);
    leave.abort();
    await following;
    const [asked = expect.unreachable()] = view.snapshot().questions;
    await damage(lost);
    const confirmation = {
      toolCallId: asked.toolCallId,
      selectedOptionId: "cancel",
    };
    const parts = [
      { content: { case: "confirmation", value: confirmation } as const },
    ];
    const answered = await client.tasks.sendMessage({
      message: { messageId: crypto.randomUUID(), parts },
    });
    expect(answered.task?.id).toBe(kept);
  });

  async function start(): Promise<void> {
    errors = [];
    const options = {
      workspace: join(base, "work"),
      dataDirectory: join(base, "data"),
      sandbox: "none",
    } as const;
    server = await serveCodingAgent({
      ...options,
      onError: (reason) => errors.push(reason),
    });
    client = clientOf(server);
  }

  /**
   * Overwrites all rows of a task while the server is down, and sets its state.
   */
  async function damage(taskId: string, state?: TaskState): Promise<void> {
    await server.close();
    const database = new DatabaseSync(join(base, "data", "tasks.db"));
    database
      .prepare("UPDATE event SET data = x'ff' WHERE task_id = ?")
      .run(taskId);
    if (state !== undefined) {
      database
        .prepare("UPDATE task SET state = ? WHERE id = ?")
        .run(state, taskId);
    }
    database.close();
    await start();
  }

  function pageOf(pageSize: number) {
    return client.tasks.listTasks({ pageSize });
  }
});
