import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import {
  ApprovalMode,
  GoalState,
  InboxRequestSchema,
  type Message,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  TaskState,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import type { Agent } from "@devtool/server";
import type { GoalChecks } from "@devtool/server/agent";
import { expect, it } from "vitest";
import {
  asking,
  begin,
  followed,
  Gates,
  LIMIT_MS,
  speaking,
  textOf,
} from "./agents.ts";
import {
  type Execute,
  type Replica,
  startReplica,
  startReplicaOf,
} from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

describeWithPostgres(
  "a request for a task that another server runs",
  (database) => {
    let schemas = 0;

    const nextSchema = () => `inbox_${++schemas}`;
    const start = (schema: string, execute: Execute) =>
      startReplica(database.url, schema, execute);

    it("queues a message, which the task takes when its turn ends", async () => {
      const schema = nextSchema();
      const words = new Gates(1);
      await using one = await start(schema, speaking(words));
      await using other = await start(schema, speaking(new Gates(0)));
      const taskId = await begin(one, "go");
      const sessionSettings = { approvalMode: ApprovalMode.PLAN };
      const sent = other.client.tasks.sendMessage({
        message: textMessage("m2", "more"),
        taskId,
        sessionSettings,
      });
      await followed(
        one,
        taskId,
        ({ payload }) => payload.case === "messageQueued",
      );
      words.open();
      words.open();
      const { task } = await sent;
      expect(task?.state).toBe(TaskState.COMPLETED);
      const events = await followed(
        other,
        taskId,
        ({ state }) => state === TaskState.COMPLETED,
      );
      expect(
        events.filter(({ payload }) => payload.case === "messageQueued"),
      ).toHaveLength(1);
      expect(textOf(events)).toBe("0 0 ");
      expect(task?.sessionSettings?.approvalMode).toBe(ApprovalMode.PLAN);
      expect(await left(schema)).toEqual([]);
    });

    it("answers a question, and the call runs once, where the task is", async () => {
      const schema = nextSchema();
      const [here, there]: [string[], string[]] = [[], []];
      await using one = await start(schema, asking(here));
      await using other = await start(schema, asking(there));
      const taskId = await begin(one, "go");
      const message = await decision(other, taskId, OPTION_PROCEED_ONCE, "m2");
      const { task } = await other.client.tasks.sendMessage({
        message,
        taskId,
      });
      expect(task?.state).toBe(TaskState.COMPLETED);
      expect([here, there]).toEqual([[taskId], []]);
      // The same message again is a retry, at any server.
      const again = await one.client.tasks.sendMessage({ message, taskId });
      expect(again.replay?.messageId).toBe("m2");
    });

    it("is refused with the error of the server that runs the task", async () => {
      const schema = nextSchema();
      await using one = await start(schema, asking([]));
      await using other = await start(schema, asking([]));
      const taskId = await begin(one, "go");
      const message = await decision(other, taskId, OPTION_PROCEED_ONCE, "m2");
      await other.client.tasks.sendMessage({ message, taskId });
      const late = await decision(one, taskId, OPTION_CANCEL, "m3", message);
      const errors = [one, other].map(({ client }) =>
        client.tasks.sendMessage({ message: late, taskId }).then(
          () => "taken",
          (reason: unknown) => wordsOf(ConnectError.from(reason)),
        ),
      );
      const [here, there] = await Promise.all(errors);
      expect(there).toMatchObject({ code: Code.FailedPrecondition });
      expect(there).toEqual(here);
      expect(there).toMatchObject({
        message: expect.stringContaining(
          'was already answered with "proceed_once"',
        ),
      });
      expect(await left(schema)).toEqual([]);
    });

    it("cancels the task once, and says so when it had ended before", async () => {
      const schema = nextSchema();
      const aborted = Promise.withResolvers<unknown>();
      await using one = await start(schema, speaking(new Gates(1), aborted));
      await using other = await start(schema, speaking(new Gates(0)));
      const taskId = await begin(one, "go");
      const { task } = await other.client.tasks.cancelTask({ taskId });
      expect(task?.state).toBe(TaskState.CANCELED);
      await aborted.promise;
      await expect(
        other.client.tasks.cancelTask({ taskId }),
      ).rejects.toMatchObject({ code: Code.FailedPrecondition });
    });

    it("withdraws a queued message", async () => {
      const schema = nextSchema();
      const words = new Gates(1);
      await using one = await start(schema, speaking(words));
      await using other = await start(schema, speaking(new Gates(0)));
      const taskId = await begin(one, "go");
      const message = textMessage("m2", "more");
      await one.client.tasks.sendMessage({
        message,
        taskId,
        returnImmediately: true,
      });
      const { task } = await other.client.tasks.withdrawMessage({
        taskId,
        messageId: "m2",
      });
      expect(task?.queuedMessages).toEqual([]);
      const again = other.client.tasks.withdrawMessage({
        taskId,
        messageId: "m2",
      });
      await expect(again).rejects.toMatchObject({ code: Code.NotFound });
      words.open();
      await followed(one, taskId);
    });

    it("renames the task, and is answered also when the task has the title already", async () => {
      const schema = nextSchema();
      await using one = await start(schema, asking([]));
      await using other = await start(schema, asking([]));
      const taskId = await begin(one, "go");
      await followed(
        one,
        taskId,
        ({ state }) => state === TaskState.INPUT_REQUIRED,
      );
      const rename = { taskId, title: "Other words", clientLabel: "test" };
      const { task } = await other.client.tasks.renameTask(rename);
      expect(task).toMatchObject({
        title: "Other words",
        state: TaskState.INPUT_REQUIRED,
      });
      const again = await other.client.tasks.renameTask(rename);
      expect(again.task?.sequence).toBe(task?.sequence);
      const here = await one.client.tasks.getTask({ taskId });
      expect(here.task).toMatchObject({
        title: "Other words",
        sequence: task?.sequence,
      });
      const [event] = (
        await followed(one, taskId, ({ payload }) => payload.case === "renamed")
      ).slice(-1);
      const value = {
        title: "Other words",
        principal: here.task?.principal,
        clientLabel: "test",
      };
      expect(event?.payload).toMatchObject({ case: "renamed", value });
      expect(await left(schema)).toEqual([]);
    });

    it("pauses a goal and goes on with it, and is answered also when it has that state", async () => {
      const schema = nextSchema();
      const words = new Gates(1);
      const own: Agent = {
        about: { name: "own", description: "Ours." },
        open: () => ({
          createExecutor: () => ({ execute: speaking(words) }),
          checks,
        }),
      };
      await using one = await startReplicaOf(database.url, schema, own);
      await using other = await startReplicaOf(database.url, schema, own);
      const { task: { id: taskId = "" } = {} } =
        await one.client.tasks.sendMessage({
          message: textMessage("m1", "go"),
          messageSettings: { goal: { checks: ["true"] } },
          returnImmediately: true,
        });
      const set = async (state: GoalState) => {
        const { task } = await other.client.tasks.setGoalState({
          taskId,
          state,
        });
        return task;
      };
      const paused = await set(GoalState.PAUSED);
      expect(paused?.goalProgress?.state).toBe(GoalState.PAUSED);
      const again = await set(GoalState.PAUSED);
      expect(again?.sequence).toBe(paused?.sequence);
      words.open();
      await followed(one, taskId);
      words.open();
      await set(GoalState.ACTIVE);
      await followed(
        other,
        taskId,
        ({ state }) => state === TaskState.COMPLETED,
      );
      await expect(set(GoalState.PAUSED)).rejects.toThrow(
        /\[failed_precondition\].*a goal that is achieved/,
      );
      expect(await left(schema)).toEqual([]);
    });

    it("is taken by the next server when the one that had the task dies before", async () => {
      const schema = nextSchema();
      const words = new Gates(1);
      await using one = await start(schema, speaking(words));
      await using other = await start(schema, speaking(new Gates(0)));
      const taskId = await begin(one, "go");
      // Another server holds the task, and does not live: nobody takes entries
      // until its lease ends.
      await database.run(
        `INSERT INTO ${schema}.replica VALUES ('dead', clock_timestamp() + interval '1 day')`,
      );
      await database.run(
        `UPDATE ${schema}.task SET owner = 'dead', fence = fence + 1 WHERE id = '${taskId}'`,
      );
      const message = textMessage("m2", "more");
      const sent = other.client.tasks.sendMessage({ message, taskId });
      const waiting = () => left(schema);
      await expect.poll(waiting, { timeout: LIMIT_MS }).toHaveLength(1);
      await database.run(`DELETE FROM ${schema}.replica WHERE id = 'dead'`);
      // The first server may get the task again. Words for the runs that it
      // loses before, and for the last one.
      for (let run = 0; run < 4; run++) words.open();
      const { task } = await sent;
      const taken = task?.history.filter(({ messageId }) => messageId === "m2");
      expect(taken).toHaveLength(1);
    });

    it("is taken when nobody holds the task any more, and whoever sent it is gone", async () => {
      const schema = nextSchema();
      await using one = await start(schema, asking([]));
      await using other = await start(schema, asking([]));
      const taskId = await begin(one, "go");
      await followed(one, taskId);
      await database.run(
        `UPDATE ${schema}.task SET owner = NULL WHERE id = '${taskId}'`,
      );
      const request = create(InboxRequestSchema, {
        request: { case: "cancel", value: {} },
      });
      await one.store.shared.inbox.put(taskId, request);
      const state = async () =>
        (await other.client.tasks.getTask({ taskId })).task?.state;
      await expect.poll(state, { timeout: LIMIT_MS }).toBe(TaskState.CANCELED);
    });

    /** The entries that the inbox still has. */
    function left(schema: string): Promise<readonly Record<string, unknown>[]> {
      return database.run(`SELECT id, task_id FROM ${schema}.inbox`);
    }
  },
);

/**
 * The text of an error, without the response headers, which contain the time.
 */
function wordsOf({ code, message, details }: ConnectError) {
  return { code, message, details };
}

/**
 * Makes a message with a decision about the one call that a task asks about, or
 * asked about in an earlier message.
 */
async function decision(
  replica: Replica,
  taskId: string,
  option: string,
  id: string,
  earlier?: Message,
): Promise<Message> {
  if (earlier) {
    const parts = earlier.parts.map((part) => {
      if (part.content.case !== "confirmation") return part;
      return {
        ...part,
        content: {
          ...part.content,
          value: { ...part.content.value, selectedOptionId: option },
        },
      };
    });
    return { ...textMessage(id, ""), parts };
  }
  await followed(
    replica,
    taskId,
    ({ state }) => state === TaskState.INPUT_REQUIRED,
  );
  const { task } = await replica.client.tasks.getTask({ taskId });
  const [call] = task ? pendingToolCalls(task) : [];
  if (!call) throw new Error("nothing is asked");
  return { ...textMessage(id, ""), parts: [confirmationPart(call, option)] };
}

/** Checks that pass. */
const checks: GoalChecks = {
  async *run(_turn, calls) {
    const { PENDING, EXECUTING, SUCCEEDED } = ToolCallStatus;
    for (const { id } of calls) {
      for (const status of [PENDING, EXECUTING, SUCCEEDED]) {
        const call = { toolCallId: id, toolName: "check", status };
        const update = { call: create(ToolCallSchema, call) };
        yield { case: "toolCalls", value: [update] };
      }
    }
  },
};
