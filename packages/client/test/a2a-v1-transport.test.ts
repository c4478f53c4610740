import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { ErrorContextSchema, isTerminal, TaskState } from "@devtool/schema";
import { ErrorInfoSchema } from "@devtool/schema/a2a-v1";
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
  result,
  sse,
  startRecordedAgent,
} from "./recorded-agent.ts";
import { deadline, joinText, madeText, QUICK } from "./streams.ts";

const TASK = {
  id: "t1",
  contextId: "c1",
  status: { state: "TASK_STATE_SUBMITTED" },
};
const MESSAGE = textMessage("m1", "go");

const status = (state: string, text?: string) => ({
  statusUpdate: {
    taskId: "t1",
    contextId: "c1",
    status: {
      state: `TASK_STATE_${state}`,
      ...(text !== undefined && { message: agentSays(text) }),
    },
  },
});

function agentSays(text: string) {
  return { messageId: "a1", role: "ROLE_AGENT", parts: [{ text }] };
}

/** Error details in the form of A2A 1.0. */
const details = (reason: string, field?: string) => [
  {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    domain: "a2a-protocol.org",
    metadata: { taskId: "t1" },
  },
  ...(field === undefined
    ? []
    : [
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [{ field, description: "bad" }],
        },
      ]),
];

describe("a call over A2A 1.0", () => {
  it("names version and extension and sends the token over both bindings", async () => {
    for (const [binding, answer] of [
      ["JSONRPC", result(TASK)],
      ["HTTP+JSON", json(TASK)],
    ] as const) {
      await using agent = await startRecordedAgent(answer);
      const { task } = await connect(agent, binding).tasks.getTask({
        taskId: "t1",
      });
      expect([task?.id, task?.state]).toEqual(["t1", TaskState.SUBMITTED]);
      expect(agent.requests[0]?.headers).toMatchObject({
        authorization: "Bearer secret",
        "a2a-version": "1.0",
        "a2a-extensions": expect.stringContaining("developer-profile"),
      });
    }
  });

  it.each([
    { code: -32001, data: [], expected: Code.NotFound },
    { code: -32002, data: [], expected: Code.FailedPrecondition },
    { code: -32003, data: [], expected: Code.Unimplemented },
    { code: -32008, data: [], expected: Code.FailedPrecondition },
    { code: -32009, data: [], expected: Code.Unimplemented },
    { code: -32603, data: details("TASK_NOT_FOUND"), expected: Code.NotFound },
    { code: -32000, data: [{ "@type": 7 }, 7, null], expected: Code.Unknown },
  ])(
    "fails with the code of error $code and its details",
    async ({ code, data, expected }) => {
      await using agent = await startRecordedAgent(
        json({ jsonrpc: "2.0", id: 1, error: { code, message: "no", data } }),
      );
      await expect(
        connect(agent).tasks.getTask({ taskId: "t1" }),
      ).rejects.toMatchObject({ code: expected });
    },
  );

  it.each([
    {
      status: 404,
      body: { code: 404, status: "NOT_FOUND", message: "no" },
      expected: Code.NotFound,
    },
    {
      status: 400,
      body: { message: "no", details: details("TASK_NOT_CANCELABLE") },
      expected: Code.FailedPrecondition,
    },
    {
      status: 400,
      body: { status: "INVALID_ARGUMENT", message: "no" },
      expected: Code.InvalidArgument,
    },
    { status: 500, body: { message: "no" }, expected: Code.Unknown },
    { status: 502, body: undefined, expected: Code.Unavailable },
    { status: 404, body: undefined, expected: Code.Unimplemented },
    { status: 401, body: undefined, expected: Code.Unauthenticated },
  ])(
    "fails with the code of HTTP $status and its body",
    async ({ status: http, body, expected }) => {
      await using agent = await startRecordedAgent(
        json(body ? { error: body } : "<html>", http),
      );
      const failed = connect(agent, "HTTP+JSON").tasks.getTask({
        taskId: "t1",
      });
      await expect(failed).rejects.toMatchObject({ code: expected });
    },
  );

  it("names the field that is wrong, and keeps the details of the agent", async () => {
    const error = {
      code: -32602,
      message: "no",
      data: details("INVALID_PARAMS", "message.parts"),
    };
    await using agent = await startRecordedAgent(
      json({ jsonrpc: "2.0", id: 1, error }),
    );
    const reason = await connect(agent)
      .tasks.sendMessage({ message: MESSAGE })
      .then(undefined, (failed: unknown) => ConnectError.from(failed));
    if (!(reason instanceof ConnectError)) {
      throw new Error("the call did not fail");
    }
    expect(reason.code).toBe(Code.InvalidArgument);
    expect(reason.findDetails(ErrorContextSchema)).toMatchObject([
      { field: "message.parts" },
    ]);
    expect(reason.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: "INVALID_PARAMS" },
    ]);
  });

  it("lists tasks, which 0.3 cannot", async () => {
    const time = "2026-01-02T03:04:05Z";
    const listed = {
      tasks: [{ ...TASK, status: { ...TASK.status, timestamp: time } }],
      nextPageToken: "n",
    };
    await using agent = await startRecordedAgent(json(listed));
    const request = {
      contextId: "c1",
      state: TaskState.WORKING,
      pageSize: 7,
      pageToken: "p",
    };
    const { tasks, nextPageToken } = await connect(
      agent,
      "HTTP+JSON",
    ).tasks.listTasks(request);
    expect([tasks[0]?.id, tasks[0]?.lastEvent?.state, nextPageToken]).toEqual([
      "t1",
      TaskState.SUBMITTED,
      "n",
    ]);
    const url = new URL(agent.requests[0]?.url ?? "", agent.url);
    expect([url.pathname, Object.fromEntries(url.searchParams)]).toEqual([
      "/tasks",
      {
        contextId: "c1",
        status: "TASK_STATE_WORKING",
        pageSize: "7",
        pageToken: "p",
        historyLength: "0",
      },
    ]);
  });

  it("is refused without the ids of its path over HTTP+JSON", async () => {
    await using agent = await startRecordedAgent(json({}));
    const asked = connect(agent, "HTTP+JSON").push.getPushConfig({
      taskId: "t1",
      configId: "",
    });
    await expect(asked).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining("lacks an id of its path"),
    });
    expect(agent.requests).toEqual([]);
  });

  it("requests slash commands over HTTP+JSON at paths without a version (CMD-1)", async () => {
    await using agent = await startRecordedAgent(
      json({ commands: [] }),
      json({ execution_id: "t1", status: "STARTED" }),
    );
    const { commands } = connect(agent, "HTTP+JSON");
    await commands.getAllSlashCommands({ contextId: "c1" });
    const { result: started } = await commands.runSlashCommand({
      command: { commandPath: ["about"] },
    });
    expect(started?.executionId).toBe("t1");
    expect(agent.requests.map(({ method, url }) => [method, url])).toEqual([
      ["GET", "/commands?contextId=c1"],
      ["POST", "/commands:execute"],
    ]);
  });

  it("lists slash commands by the agent, and puts no secret of the session into the URL", async () => {
    await using agent = await startRecordedAgent(json({ commands: [] }));
    const http = {
      case: "http" as const,
      value: { url: "http://mcp", headers: { authorization: "hush-4711" } },
    };
    const sessionSettings = {
      agent: "bob",
      mcpServers: [{ name: "mcp", transport: http }],
    };
    await connect(agent, "HTTP+JSON").commands.getAllSlashCommands({
      sessionSettings,
    });
    const [{ url } = { url: "" }] = agent.requests;
    expect(decodeURIComponent(url ?? "")).toContain('"agent":"bob"');
    expect(url).not.toContain("hush");
  });

  it("has no slash commands over gRPC, and refuses unknown versions and bindings", async () => {
    await using agent = await startRecordedAgent(json({}));
    const grpc = () => createRouterTransport(() => undefined);
    const transport = createA2aTransport({
      url: agent.url,
      protocolVersion: "1.0",
      protocolBinding: "GRPC",
      grpc,
    });
    await expect(
      createDevtoolClient(transport).commands.getAllSlashCommands({}),
    ).rejects.toMatchObject({
      code: Code.Unimplemented,
      rawMessage: expect.stringContaining("use JSONRPC or HTTP+JSON"),
    });
    expect(() => connect(agent, "GRPC")).toThrow("choose 1.0 over JSONRPC");
    expect(() =>
      createA2aTransport({ url: agent.url, protocolVersion: "2.0" }),
    ).toThrow('"2.0"');
  });
});

describe("a stream over A2A 1.0", () => {
  it("resumes after the last event that has an id", async () => {
    await using agent = await startRecordedAgent(
      sse(numbered(1, { task: TASK })),
      sse(": alive\n\n", numbered(2, status("COMPLETED"))),
    );
    const events = await Array.fromAsync(
      streamMessage(connect(agent), { message: MESSAGE }, deadline(), QUICK),
    );
    expect(events.map(({ sequence }) => sequence)).toEqual([1n, 2n]);
    expect(agent.requests[1]).toMatchObject({
      headers: { "last-event-id": "1" },
      body: { method: "SubscribeToTask", params: { id: "t1" } },
    });
  });

  it("of a task that continues starts with the message that it received", async () => {
    await using agent = await startRecordedAgent(
      sse(
        numbered(7, { task: { ...TASK, history: [agentSays("which one?")] } }),
        numbered(8, status("COMPLETED")),
      ),
    );
    const request = { message: MESSAGE, taskId: "t1", contextId: "c1" };
    const events = await Array.fromAsync(
      streamMessage(connect(agent), request, deadline(), QUICK),
    );
    expect(
      events.map(({ sequence, payload }) => [sequence, payload.case]),
    ).toEqual([
      [7n, "message"],
      [8n, "stateChange"],
    ]);
    expect(events[0]?.payload.value).toMatchObject({ messageId: "m1" });
  });

  it.each([
    { name: "not JSON", frame: "data: {oops\n\n" },
    { name: "empty", frame: {} },
    {
      name: "of another shape",
      frame: { task: { status: { state: "TASK_STATE_ODD" } } },
    },
  ])(
    "with an element that is $name is data loss, and is not retried",
    async ({ frame }) => {
      await using agent = await startRecordedAgent(sse({ task: TASK }, frame));
      const events = streamMessage(
        connect(agent),
        { message: MESSAGE },
        deadline(),
        QUICK,
      );
      await expect(Array.fromAsync(events)).rejects.toMatchObject({
        code: Code.DataLoss,
      });
      expect(agent.requests).toHaveLength(1);
    },
  );

  it("may fail in the middle over HTTP+JSON", async () => {
    const error = {
      error: { status: "FAILED_PRECONDITION", message: "enough", details: [] },
    };
    await using agent = await startRecordedAgent(
      sse(
        `data: ${JSON.stringify({ task: TASK })}\n\n`,
        `event: error\ndata: ${JSON.stringify(error)}\n\n`,
      ),
    );
    const events = streamMessage(
      connect(agent, "HTTP+JSON"),
      { message: MESSAGE },
      deadline(),
      QUICK,
    );
    await expect(Array.fromAsync(events)).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: "enough",
    });
  });

  it("that is answered with something else fails with what the agent says", async () => {
    const body = {
      error: { status: "INVALID_ARGUMENT", message: "no stream here" },
    };
    await using refusing = await startRecordedAgent(json(body, 400));
    const refused = streamMessage(
      connect(refusing, "HTTP+JSON"),
      { message: MESSAGE },
      deadline(),
      QUICK,
    );
    await expect(Array.fromAsync(refused)).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: "no stream here",
    });
  });

  it("may be answered without a stream, with the whole task", async () => {
    const task = { ...TASK, status: { state: "TASK_STATE_COMPLETED" } };
    await using agent = await startRecordedAgent(json({ task }));
    const events = await Array.fromAsync(
      streamMessage(
        connect(agent, "HTTP+JSON"),
        { message: MESSAGE },
        deadline(),
        QUICK,
      ),
    );
    expect(events.at(-1)?.state).toBe(TaskState.COMPLETED);
  });
});

describe("an agent of A2A 1.0 without the extension", () => {
  it("answers with artifacts in pieces, a text in its last state, a whole task, or a message alone", async () => {
    const piece = (text: string) => ({
      artifactUpdate: {
        taskId: "t1",
        contextId: "c1",
        append: true,
        artifact: { artifactId: "a", parts: [{ text }] },
      },
    });
    const whole = { ...TASK, status: { state: "TASK_STATE_COMPLETED" } };
    const artifacts = [{ artifactId: "a", parts: [{ text: "made" }] }];
    for (const [frames, text] of [
      [
        [{ task: TASK }, piece("one "), piece("two"), status("COMPLETED")],
        "one two",
      ],
      [
        [
          { task: TASK },
          status("WORKING"),
          status("INPUT_REQUIRED", "which one?"),
        ],
        "which one?",
      ],
      [[{ task: { ...whole, artifacts } }], "made"],
      [[{ message: agentSays("said") }], "said"],
    ] as const) {
      await using agent = await startRecordedAgent(sse(...frames));
      const events = await Array.fromAsync(
        streamMessage(connect(agent), { message: MESSAGE }, deadline(), QUICK),
      );
      expect(joinText(events) + madeText(events)).toBe(text);
      expect(events.at(-1)?.state).toBe(
        text === "which one?" ? TaskState.INPUT_REQUIRED : TaskState.COMPLETED,
      );
      expect(agent.requests).toHaveLength(1);
    }
  });

  it("may answer with a message alone, which is a completed task", async () => {
    await using agent = await startRecordedAgent(
      result({ message: agentSays("said") }),
    );
    const { task } = await connect(agent).tasks.sendMessage({
      message: MESSAGE,
    });
    expect([
      task?.state,
      task?.history.at(-1)?.parts[0]?.content.value,
    ]).toEqual([TaskState.COMPLETED, "said"]);
  });

  it("has its events numbered on across the exchanges of a task", async () => {
    await using agent = await startRecordedAgent(
      sse({ task: TASK }, status("INPUT_REQUIRED", "which one?")),
      sse(status("WORKING"), status("COMPLETED", "that one")),
    );
    const client = connect(agent);
    const asked = await Array.fromAsync(
      streamMessage(client, { message: MESSAGE }, deadline(), QUICK),
    );
    const last = asked.at(-1)?.sequence ?? 0n;
    const request = {
      message: textMessage("m2", "that"),
      taskId: "t1",
      contextId: "c1",
    };
    const answered = await Array.fromAsync(
      streamMessage(client, request, deadline(), QUICK),
    );
    expect(answered.map(({ sequence }) => sequence)).toEqual(
      [1n, 2n, 3n].map((step) => last + step),
    );
    expect(isTerminal(answered.at(-1)?.state ?? TaskState.UNSPECIFIED)).toBe(
      true,
    );
  });

  it("gets a message to an ended task as a new task (STREAM-5)", async () => {
    await using agent = await startRecordedAgent(
      sse({ task: TASK }, status("COMPLETED")),
      result({ task: TASK }),
    );
    const client = connect(agent);
    await Array.fromAsync(
      streamMessage(client, { message: MESSAGE }, deadline(), QUICK),
    );
    await client.tasks.sendMessage({
      message: textMessage("m2", "more"),
      taskId: "t1",
    });
    const { message } = Object(agent.requests[1]?.body.params);
    expect(message).toMatchObject({
      messageId: "m2",
      contextId: "c1",
      referenceTaskIds: ["t1"],
    });
    expect(message).not.toHaveProperty("taskId");
  });

  it("gets the same message again on a retry, even if its task has ended in between (STREAM-7)", async () => {
    const ended = { ...TASK, status: { state: "TASK_STATE_COMPLETED" } };
    await using agent = await startRecordedAgent(
      sse({ task: TASK }, status("INPUT_REQUIRED", "which one?")),
      json("<html>", 502),
      result(ended),
      sse({ task: TASK }, status("COMPLETED")),
    );
    const client = connect(agent);
    await Array.fromAsync(
      streamMessage(client, { message: MESSAGE }, deadline(), QUICK),
    );
    const message = textMessage("m2", "that");
    await expect(
      client.tasks.sendMessage({ message, taskId: "t1" }),
    ).rejects.toMatchObject({ code: Code.Unavailable });
    await client.tasks.getTask({ taskId: "t1" });
    await Array.fromAsync(
      streamMessage(client, { message, taskId: "t1" }, deadline(), QUICK),
    );
    const [, first, , again] = agent.requests.map(
      ({ body }) => Object(body.params).message,
    );
    expect(again).toEqual(first);
    expect(again).toMatchObject({ taskId: "t1" });
  });

  it("sends the task on a subscription, and its text is yielded once", async () => {
    const task = { ...TASK, history: [agentSays("so far")] };
    await using agent = await startRecordedAgent(
      sse({ task }, status("COMPLETED", "done")),
    );
    const events = await Array.fromAsync(
      subscribeTask(connect(agent), { taskId: "t1" }, deadline(), QUICK),
    );
    expect([joinText(events), events.at(-1)?.state]).toEqual([
      "so fardone",
      TaskState.COMPLETED,
    ]);
  });
});

function numbered(id: number, frame: unknown): string {
  return `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: frame })}\n\n`;
}

function connect(
  { url }: RecordedAgent,
  protocolBinding = "JSONRPC",
): DevtoolClient {
  return createDevtoolClient(
    createA2aTransport({
      url,
      token: "secret",
      protocolVersion: "1.0",
      protocolBinding,
    }),
  );
}
