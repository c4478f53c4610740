import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorContextSchema, type TaskEvent, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { createA2aTransport } from "../src/a2a.ts";
import {
  createDevtoolClient,
  type DevtoolClient,
  streamMessage,
  subscribeTask,
  textMessage,
} from "../src/index.ts";
import {
  json,
  type RecordedAgent,
  silence,
  sse,
  startRecordedAgent,
} from "./recorded-agent.ts";
import { deadline, joinText, QUICK } from "./streams.ts";

const MESSAGE = textMessage("m1", "go");

/**
 * The two forms of JSON that agents send: ProtoJSON, and the JSON of the
 * JSON-RPC binding.
 */
const FORMS = {
  ProtoJSON: {
    task: {
      id: "t1",
      contextId: "c1",
      status: { state: "TASK_STATE_SUBMITTED" },
    },
    opened: {
      task: {
        id: "t1",
        contextId: "c1",
        status: { state: "TASK_STATE_SUBMITTED" },
      },
    },
    ended: {
      statusUpdate: {
        taskId: "t1",
        contextId: "c1",
        final: true,
        status: {
          state: "TASK_STATE_COMPLETED",
          message: {
            messageId: "a1",
            role: "ROLE_AGENT",
            content: [{ text: "done" }],
          },
        },
      },
    },
    configs: {
      configs: [
        {
          name: "tasks/t1/pushNotificationConfigs/p",
          pushNotificationConfig: { url: "https://a/" },
        },
      ],
    },
  },
  "the JSON of JSON-RPC": {
    task: {
      kind: "task",
      id: "t1",
      contextId: "c1",
      status: { state: "submitted" },
    },
    opened: {
      kind: "task",
      id: "t1",
      contextId: "c1",
      status: { state: "submitted" },
    },
    ended: {
      kind: "status-update",
      taskId: "t1",
      contextId: "c1",
      final: true,
      status: {
        state: "completed",
        message: {
          kind: "message",
          messageId: "a1",
          role: "agent",
          parts: [{ kind: "text", text: "done" }],
        },
      },
    },
    configs: [
      { taskId: "t1", pushNotificationConfig: { id: "p", url: "https://a/" } },
    ],
  },
};

describe("a call over A2A 0.3 with HTTP+JSON", () => {
  it.each(Object.entries(FORMS))(
    "reads %s",
    async (_form, { task, opened, ended, configs }) => {
      await using agent = await startRecordedAgent(
        json(task),
        json(opened, 201),
        json(configs),
        sse(line(opened), line(ended)),
      );
      const client = connect(agent);
      const got = await client.tasks.getTask({ taskId: "t1" });
      expect([got.task?.id, got.task?.contextId, got.task?.state]).toEqual([
        "t1",
        "c1",
        TaskState.SUBMITTED,
      ]);
      const sent = await client.tasks.sendMessage({ message: MESSAGE });
      expect(sent.task?.state).toBe(TaskState.SUBMITTED);
      const listed = await client.push.listPushConfigs({ taskId: "t1" });
      expect(listed.configs).toMatchObject([
        { taskId: "t1", id: "p", url: "https://a/" },
      ]);
      const events = await Array.fromAsync(
        streamMessage(client, { message: MESSAGE }, deadline(), QUICK),
      );
      expect([joinText(events), events.at(-1)?.state]).toEqual([
        "done",
        TaskState.COMPLETED,
      ]);
    },
  );

  it("requests the path of its method, with the extension and the token", async () => {
    const { task, opened } = FORMS.ProtoJSON;
    await using agent = await startRecordedAgent(
      json(task),
      json(task),
      json(opened),
    );
    const { tasks } = connect(agent);
    await tasks.getTask({ taskId: "a/b" });
    await tasks.cancelTask({ taskId: "t1" });
    await tasks.sendMessage({ message: MESSAGE, taskId: "t1" });
    expect(agent.requests).toMatchObject([
      {
        method: "GET",
        url: "/v1/tasks/a%2Fb",
        headers: {
          authorization: "Bearer secret",
          "x-a2a-extensions": expect.stringContaining("developer-profile"),
        },
      },
      { method: "POST", url: "/v1/tasks/t1:cancel" },
      {
        method: "POST",
        url: "/v1/message:send",
        headers: { "content-type": "application/json" },
        body: {
          message: {
            messageId: "m1",
            taskId: "t1",
            role: "ROLE_USER",
            content: [{ text: "go" }],
          },
        },
      },
    ]);
  });

  it.each([
    { answer: json({ code: -32001, message: "no" }, 404), code: Code.NotFound },
    {
      answer: json({ type: "TaskNotCancelableError", message: "no" }, 409),
      code: Code.FailedPrecondition,
    },
    {
      answer: json(
        { error: "io.a2a.spec.TaskNotFoundError", message: "no" },
        404,
      ),
      code: Code.NotFound,
    },
    {
      answer: json(
        { error: { code: 404, status: "NOT_FOUND", message: "no" } },
        404,
      ),
      code: Code.NotFound,
    },
    { answer: json({ message: "no" }, 404), code: Code.NotFound },
    { answer: json({ message: "no" }, 409), code: Code.FailedPrecondition },
    { answer: json({ message: "no" }, 422), code: Code.InvalidArgument },
    { answer: json({ message: "no" }, 500), code: Code.Internal },
    { answer: json({ message: "no" }, 502), code: Code.Unavailable },
    { answer: json({ message: "no" }, 401), code: Code.Unauthenticated },
    { answer: json({ detail: "Not Found" }, 404), code: Code.Unimplemented },
    { answer: json("<html>", 404), code: Code.Unimplemented },
    { answer: json("<html>", 503), code: Code.Unavailable },
    {
      answer: json({ code: -32001, message: "no", data: deep(100) }, 404),
      code: Code.DataLoss,
    },
    { answer: json("{"), code: Code.DataLoss },
    { answer: json("[]"), code: Code.DataLoss },
    { answer: json(""), code: Code.DataLoss },
    { answer: json({ id: "t1", status: 7 }), code: Code.DataLoss },
  ])("fails with the code of the answer ($code)", async ({ answer, code }) => {
    await using agent = await startRecordedAgent(answer);
    await expect(
      connect(agent).tasks.getTask({ taskId: "t1" }),
    ).rejects.toMatchObject({ code });
  });

  it("names the field that is wrong", async () => {
    const data = { field: "message.parts", value: "" };
    await using agent = await startRecordedAgent(
      json({ code: -32602, message: "no", data }, 400),
    );
    const reason: unknown = await connect(agent)
      .tasks.sendMessage({ message: MESSAGE })
      .catch((error) => error);
    const [context] = ConnectError.from(reason).findDetails(ErrorContextSchema);
    expect(context?.field).toBe("message.parts");
  });

  it("is refused without the ids of its path", async () => {
    await using agent = await startRecordedAgent(json({}));
    const { tasks, push } = connect(agent);
    const wrong = {
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining("is missing"),
    };
    await expect(tasks.getTask({ taskId: "" })).rejects.toMatchObject(wrong);
    await expect(
      push.getPushConfig({ taskId: "t1", configId: "" }),
    ).rejects.toMatchObject(wrong);
    expect(agent.requests).toEqual([]);
  });

  it("accepts an empty answer for a method without a result", async () => {
    await using agent = await startRecordedAgent((response) =>
      response.writeHead(204).end(),
    );
    await expect(
      connect(agent).push.deletePushConfig({ taskId: "t1", configId: "p" }),
    ).resolves.toMatchObject({});
  });

  it("has no list of tasks", async () => {
    await using agent = await startRecordedAgent(json({}));
    await expect(connect(agent).tasks.listTasks({})).rejects.toMatchObject({
      code: Code.Unimplemented,
    });
    expect(agent.requests).toEqual([]);
  });

  it("gets slash commands at their own path (CMD-1)", async () => {
    await using agent = await startRecordedAgent(
      json('{"commands":[{"name":"stats"}]}'),
    );
    const { commands } = await connect(agent).commands.getAllSlashCommands({
      contextId: "c",
    });
    expect(commands.map(({ name }) => name)).toEqual(["stats"]);
  });

  it("that times out exceeds its deadline", async () => {
    await using agent = await startRecordedAgent(silence);
    await expect(
      connect(agent).tasks.getTask({ taskId: "t1" }, { timeoutMs: 30 }),
    ).rejects.toMatchObject({
      code: Code.DeadlineExceeded,
    });
  });
});

describe("a stream over A2A 0.3 with HTTP+JSON", () => {
  const { opened } = FORMS.ProtoJSON;

  it("resumes after the last event that has an id (STREAM-3)", async () => {
    const status = { state: "TASK_STATE_COMPLETED" };
    await using agent = await startRecordedAgent(
      sse(`id: 1\n${line(opened)}`),
      sse(
        ": alive\n\nretry: 5\n\n",
        `id: 2\n${line({ statusUpdate: { taskId: "t1", final: true, status } })}`,
      ),
    );
    const events = await Array.fromAsync(
      streamMessage(connect(agent), { message: MESSAGE }, deadline(), QUICK),
    );
    expect(events.map(({ sequence }) => sequence)).toEqual([1n, 2n]);
    expect(agent.requests[1]).toMatchObject({
      method: "GET",
      url: "/v1/tasks/t1:subscribe",
      headers: { "last-event-id": "1" },
    });
  });

  it.each([
    {
      name: "an error",
      frame: `event: error\n${line({ code: -32001, message: "no" })}`,
      code: Code.NotFound,
    },
    {
      name: "an error by its name",
      frame: line({ type: "InvalidParamsError", message: "no" }),
      code: Code.InvalidArgument,
    },
    { name: "not JSON", frame: "data: {oops\n\n", code: Code.DataLoss },
    {
      name: "not a frame of a task",
      frame: line({ task: { status: 7 } }),
      code: Code.DataLoss,
    },
  ])(
    "with a frame that is $name fails, and is not retried",
    async ({ frame, code }) => {
      await using agent = await startRecordedAgent(sse(line(opened), frame));
      const events = streamMessage(
        connect(agent),
        { message: MESSAGE },
        deadline(),
        QUICK,
      );
      await expect(Array.fromAsync(events)).rejects.toMatchObject({ code });
      expect(agent.requests).toHaveLength(1);
    },
  );

  it("is subscribed to by POST if an agent takes GET for a missing task, as the Java SDK does", async () => {
    const missing = json(
      { error: "io.a2a.spec.TaskNotFoundError", message: "Task not found" },
      404,
    );
    const ended = {
      statusUpdate: {
        taskId: "t1",
        final: true,
        status: { state: "TASK_STATE_COMPLETED" },
      },
    };
    await using agent = await startRecordedAgent(
      missing,
      sse(line(opened), line(ended)),
    );
    const events = await Array.fromAsync(
      subscribeTask(connect(agent), { taskId: "t1" }, deadline(), QUICK),
    );
    expect(events.at(-1)?.state).toBe(TaskState.COMPLETED);
    expect(agent.requests).toMatchObject([
      { method: "GET", url: "/v1/tasks/t1:subscribe" },
      { method: "POST", url: "/v1/tasks/t1:subscribe" },
    ]);
    await using other = await startRecordedAgent(missing, json("<html>", 405));
    const refused = subscribeTask(
      connect(other),
      { taskId: "t1" },
      deadline(),
      QUICK,
    );
    await expect(Array.fromAsync(refused)).rejects.toMatchObject({
      code: Code.NotFound,
    });
    expect(other.requests).toHaveLength(2);
  });

  it("that is answered with an error fails", async () => {
    await using agent = await startRecordedAgent(json({ message: "no" }, 404));
    const log = (): AsyncIterable<TaskEvent> =>
      subscribeTask(connect(agent), { taskId: "t1" }, deadline(), QUICK);
    await expect(Array.fromAsync(log())).rejects.toMatchObject({
      code: Code.NotFound,
    });
  });
});

/** Nests lists to a depth. */
function deep(levels: number): unknown {
  return levels === 0 ? [] : [deep(levels - 1)];
}

/** Writes a frame of the stream, which has no envelope in this binding. */
function line(frame: unknown): string {
  return `data: ${JSON.stringify(frame)}\n\n`;
}

function connect({ url }: RecordedAgent): DevtoolClient {
  return createDevtoolClient(
    createA2aTransport({ url, token: "secret", protocolBinding: "HTTP+JSON" }),
  );
}
