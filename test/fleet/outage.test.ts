import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  createDevtoolClient,
  type DevtoolClient,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PostgresStore } from "@devtool/postgres";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { ApprovalMode, Role, type Task, TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

const bin = findPostgres();
const LEASE_MS = 3000;

describe.skipIf(bin === undefined)(
  `a database that cannot be reached for a while${withoutPostgres(bin)}`,
  () => {
    let database: PostgresServer;
    let root: string;
    let server: DevtoolServer;
    let errors: unknown[];
    let notices: string[];

    beforeEach(async () => {
      database = await startPostgres(bin ?? "");
      root = temporaryDirectory();
      errors = [];
      notices = [];
    });
    afterEach(async () => {
      await server.close();
      await database[Symbol.asyncDispose]();
    });

    it("F-M2: is not noticed in a turn when it is back while the leases last", async () => {
      const { client, taskId } = await start(
        "say 2\nwait 300\ntext middle\nwait 300\ntext end",
        30_000,
      );
      await database.stop();
      await delay(600);
      await database.start();
      const task = await rested(client, taskId);
      expect([task.state, agentText(task)]).toEqual([
        TaskState.COMPLETED,
        expect.stringMatching(/^chunk 1 chunk 2 middleend$/),
      ]);
    });

    it("F-M2: interrupts a turn that has no state but its log, which then goes on by itself", async () => {
      const { client, taskId } = await start(
        "text begin\nwait 6000\ntext end\nwrite later.txt 1",
      );
      await database.stop();
      await delay(2 * LEASE_MS);
      await database.start();
      const task = await rested(client, taskId);
      expect(task.state).toBe(TaskState.COMPLETED);
      expect(agentText(task)).toContain("end");
      expect(existsSync(join(root, "later.txt"))).toBe(true);
      expect(notices).toContain("the store can be reached again");
    });

    it("F-M2: interrupts a call that runs, and says why", async () => {
      const { client, taskId } = await start(
        "text begin\nrun touch begun; sleep 30",
      );
      await expect.poll(() => existsSync(join(root, "begun"))).toBe(true);
      await database.stop();
      await delay(2 * LEASE_MS);
      await database.start();
      const task = await rested(client, taskId);
      expect(task.state).toBe(TaskState.INPUT_REQUIRED);
      expect(task.stateText).toBe(
        "The store could not be reached while the agent was working. Send a message to go on.",
      );
    });

    it("F-M1, F-M2: is `unavailable` to clients in each dialect, and one error in the log", async () => {
      const { taskId } = await start("text done");
      await database.stop();
      for (const client of [
        clientOf(server),
        ...["0.3", "1.0"].flatMap((version) =>
          ["JSONRPC", "HTTP+JSON"].map((binding) => a2a(version, binding)),
        ),
      ]) {
        await expect(client.tasks.getTask({ taskId })).rejects.toThrow(
          /\[unavailable\] .*the store cannot be reached/,
        );
      }
      await delay(2 * LEASE_MS);
      // A connection that answers once more while the database stops ends an
      // outage, and another one begins.
      const ended = notices.filter(
        (text) => text === "the store can be reached again",
      ).length;
      expect(errors.map(String)).toHaveLength(1 + ended);
      await database.start();
      await expect
        .poll(() => notices)
        .toContain("the store can be reached again");
    });

    /** Starts a server, and a task that has said something. */
    async function start(
      script: string,
      leaseMs = LEASE_MS,
    ): Promise<{ client: DevtoolClient; taskId: string }> {
      server = await serveCodingAgent({
        workspace: root,
        approvalMode: ApprovalMode.YOLO,
        sandbox: "none",
        openStore: () => PostgresStore.open({ url: database.url, leaseMs }),
        onError: (reason) => errors.push(reason),
        onNotice: (text) => notices.push(text),
      });
      const client = clientOf(server);
      const { task } = await client.tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), script),
        returnImmediately: true,
      });
      const taskId = task?.id ?? "";
      await expect
        .poll(async () =>
          agentText((await client.tasks.getTask({ taskId })).task),
        )
        .not.toBe("");
      return { client, taskId };
    }

    async function rested(
      client: DevtoolClient,
      taskId: string,
    ): Promise<Task> {
      for (;;) {
        const { task } = await client.tasks
          .getTask({ taskId })
          .catch(() => ({ task: undefined }));
        const isWorking = !task || task.state <= TaskState.WORKING;
        if (!isWorking) return task;
        await delay(50);
      }
    }

    function a2a(
      protocolVersion: string,
      protocolBinding: string,
    ): DevtoolClient {
      const { url, token } = server;
      return createDevtoolClient(
        createA2aTransport({ url, token, protocolVersion, protocolBinding }),
      );
    }
  },
);

/** Everything that the agent has said in a task. */
function agentText(task: Task | undefined): string {
  return (task?.history ?? [])
    .filter(({ role }) => role === Role.AGENT)
    .flatMap(({ parts }) => parts)
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
}
