import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { OPTION_PROCEED_ONCE, type Task, TaskState } from "@devtool/schema";
import { beforeEach, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { asking } from "./agents.ts";
import { type Replica, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

describeWithPostgres(
  "servers that share a database and not all workspaces",
  (database) => {
    let base: string;
    let schemas = 0;
    beforeEach(async () => {
      schemas++;
      base = temporaryDirectory();
      for (const name of ["mine", "theirs"]) await mkdir(join(base, name));
    });

    const start = (workspace: string, runs: string[] = []) =>
      startReplica(database.url, `workspaces_${schemas}`, asking(runs), {
        workspace: join(base, workspace),
      });

    it("hand requests to the server that has the workspace", async () => {
      const runs: string[] = [];
      await using one = await start("mine", runs);
      await using other = await start("theirs", runs);
      const task = await ask(one);
      const answered = await answer(other, task);
      expect([answered?.state, runs]).toEqual([TaskState.COMPLETED, [task.id]]);
    });

    it.each([
      ["is outside the roots of this server (--root)", async () => undefined],
      [
        "is not on this server",
        () => rm(join(base, "mine"), { recursive: true }),
      ],
    ])(
      "leave a task alone whose workspace %s, and say so",
      async (why, change) => {
        const one = await start("mine");
        await using other = await start("theirs");
        const task = await ask(one);
        // Before the server ends: it tells the other one, which looks at once.
        await change();
        await one.server.close();
        const problem = `workspace "${join(base, "mine")}" ${why}: share the directory with all servers under this path`;
        await expect
          .poll(() => String(other.errors.flatMap(errorsIn)))
          .toContain(problem);
        const message = textMessage("m2", "again");
        await expect(
          other.client.tasks.sendMessage({
            message,
            contextId: task.contextId,
          }),
        ).rejects.toMatchObject({
          code: Code.Unavailable,
          rawMessage: expect.stringContaining(problem),
        });
        await expect(answer(other, task)).rejects.toMatchObject({
          code: Code.Unavailable,
          rawMessage: expect.stringContaining(
            `no server has taken the request for task "${task.id}" yet, and ${problem}`,
          ),
        });
        // It is read all the same, and another server that has the workspace
        // takes it over.
        expect(
          (await other.client.tasks.getTask({ taskId: task.id })).task?.state,
        ).toBe(TaskState.INPUT_REQUIRED);
        await mkdir(join(base, "mine"), { recursive: true });
        const runs: string[] = [];
        await using third = await start("mine", runs);
        const log = third.store.readEvents(task.id, task.sequence);
        await expect
          .poll(
            async () =>
              (await third.client.tasks.getTask({ taskId: task.id })).task
                ?.state,
          )
          .toBe(3);
        expect([(await Array.fromAsync(log)).length > 0, runs]).toEqual([
          true,
          [task.id],
        ]);
      },
      60_000,
    );
  },
  LEFT_TO_CI,
);

async function ask({ client }: Replica): Promise<Task> {
  const { task } = await client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), "go"),
  });
  if (task?.state !== TaskState.INPUT_REQUIRED) {
    throw new Error("nothing is asked");
  }
  return task;
}

async function answer(
  { client }: Replica,
  task: Task,
): Promise<Task | undefined> {
  const [call] = pendingToolCalls(task);
  const parts = call ? [confirmationPart(call, OPTION_PROCEED_ONCE)] : [];
  const message = { ...textMessage(crypto.randomUUID(), ""), parts };
  return (await client.tasks.sendMessage({ message, taskId: task.id })).task;
}

function errorsIn(reason: unknown): unknown[] {
  return reason instanceof AggregateError ? reason.errors : [reason];
}
