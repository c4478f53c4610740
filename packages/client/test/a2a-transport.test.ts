import { Code } from "@connectrpc/connect";
import { isTerminal, TaskState } from "@devtool/schema";
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
  silence,
  sse,
  startRecordedAgent,
} from "./recorded-agent.ts";
import { deadline, joinText, madeText, QUICK } from "./streams.ts";

const TASK = {
  kind: "task",
  id: "t1",
  contextId: "c1",
  status: { state: "submitted" },
};
const MESSAGE = textMessage("m1", "go");

describe("a call over A2A 0.3", () => {
  it("that times out fails as over any other transport, not as a lost connection", async () => {
    await using agent = await startRecordedAgent(silence);
    const { tasks } = connect(agent);
    await expect(
      tasks.getTask({ taskId: "t1" }, { signal: AbortSignal.timeout(30) }),
    ).rejects.toMatchObject({
      code: Code.Canceled,
      rawMessage: expect.stringContaining("timeout"),
    });
    await expect(
      tasks.getTask({ taskId: "t1" }, { timeoutMs: 30 }),
    ).rejects.toMatchObject({
      code: Code.DeadlineExceeded,
    });
  });

  it("that its caller aborts is canceled", async () => {
    await using agent = await startRecordedAgent(silence);
    const caller = new AbortController();
    const waiting = connect(agent).tasks.getTask(
      { taskId: "t1" },
      { signal: caller.signal },
    );
    caller.abort();
    await expect(waiting).rejects.toMatchObject({ code: Code.Canceled });
  });

  it.each([
    { answer: json("<html>", 502), code: Code.Unavailable },
    { answer: json("slow down", 429), code: Code.Unavailable },
    { answer: json({ error: "no" }, 401), code: Code.Unauthenticated },
    { answer: json({ error: "no" }, 403), code: Code.PermissionDenied },
    {
      answer: json({ error: "nothing is here" }, 404),
      code: Code.Unimplemented,
    },
    { answer: json("{"), code: Code.DataLoss },
    { answer: json("[]"), code: Code.DataLoss },
    { answer: result({ kind: "status-update" }), code: Code.DataLoss },
    {
      answer: json({
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32001, message: "no" },
      }),
      code: Code.NotFound,
    },
    {
      answer: json({
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32002, message: "no" },
      }),
      code: Code.FailedPrecondition,
    },
    {
      answer: json({
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32601, message: "no" },
      }),
      code: Code.Unimplemented,
    },
    {
      answer: json(
        { jsonrpc: "2.0", id: 1, error: { code: -32602, message: "no" } },
        400,
      ),
      code: Code.InvalidArgument,
    },
  ])("fails with the code of the answer ($code)", async ({ answer, code }) => {
    await using agent = await startRecordedAgent(answer);
    await expect(
      connect(agent).tasks.getTask({ taskId: "t1" }),
    ).rejects.toMatchObject({ code });
  });

  it("accepts an empty answer only for a method without a result", async () => {
    await using agent = await startRecordedAgent(json(""));
    const { push, tasks } = connect(agent);
    await expect(
      push.deletePushConfig({ taskId: "t1", configId: "c" }),
    ).resolves.toMatchObject({});
    await expect(tasks.getTask({ taskId: "t1" })).rejects.toMatchObject({
      code: Code.DataLoss,
    });
  });

  it("names the extension and sends the token", async () => {
    await using agent = await startRecordedAgent(result(TASK));
    await connect(agent).tasks.getTask({ taskId: "t1" });
    expect(agent.requests[0]?.headers).toMatchObject({
      authorization: "Bearer secret",
      "x-a2a-extensions": expect.stringContaining("developer-profile"),
    });
  });
});

describe("a stream over A2A 0.3", () => {
  it.each([
    { name: "not JSON", frame: "id: 2\ndata: {oops\n\n" },
    { name: "not a response", frame: "id: 2\ndata: 7\n\n" },
    { name: "not a frame of a task", frame: { kind: "task", status: 7 } },
  ])(
    "with a frame that is $name is data loss, and is not retried",
    async ({ frame }) => {
      await using agent = await startRecordedAgent(sse(TASK, frame));
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

  it("that ends without any event is retried maxAttempts times", async () => {
    await using agent = await startRecordedAgent(sse());
    const log = subscribeTask(
      connect(agent),
      { taskId: "t1" },
      deadline(),
      QUICK,
    );
    await expect(Array.fromAsync(log)).rejects.toMatchObject({
      code: Code.Unavailable,
    });
    expect(agent.requests).toHaveLength(QUICK.maxAttempts);
  });

  it("that ends without any event has ended if everything was read before", async () => {
    await using agent = await startRecordedAgent(sse());
    expect(
      await Array.fromAsync(
        subscribeTask(
          connect(agent),
          { taskId: "t1", afterSequence: 5n },
          deadline(),
          QUICK,
        ),
      ),
    ).toEqual([]);
    expect(agent.requests).toHaveLength(1);
  });

  it("resumes after the last event that has an id", async () => {
    const second = {
      kind: "status-update",
      taskId: "t1",
      contextId: "c1",
      status: { state: "completed" },
      final: true,
    };
    await using agent = await startRecordedAgent(
      sse(numbered(1, TASK)),
      sse(": alive\n\nretry: 5\n\n", numbered(2, second)),
    );
    const events = await Array.fromAsync(
      streamMessage(connect(agent), { message: MESSAGE }, deadline(), QUICK),
    );
    expect(events.map(({ sequence }) => sequence)).toEqual([1n, 2n]);
    expect(agent.requests[1]).toMatchObject({
      headers: { "last-event-id": "1" },
      body: { method: "tasks/resubscribe", params: { id: "t1" } },
    });
  });
});

describe("an agent without the extension", () => {
  const status = (state: string, text?: string) => ({
    kind: "status-update",
    taskId: "t1",
    contextId: "c1",
    final: false,
    status: { state, ...(text !== undefined && { message: agentSays(text) }) },
  });

  it("ends an exchange with a text in its last state", async () => {
    await using agent = await startRecordedAgent(
      sse(TASK, status("working"), status("input-required", "which one?")),
    );
    const events = await Array.fromAsync(
      streamMessage(connect(agent), { message: MESSAGE }, deadline(), QUICK),
    );
    expect([joinText(events), events.at(-1)?.state]).toEqual([
      "which one?",
      TaskState.INPUT_REQUIRED,
    ]);
    expect(agent.requests).toHaveLength(1);
  });

  it("answers with artifacts in several pieces", async () => {
    const piece = (text: string) => ({
      kind: "artifact-update",
      taskId: "t1",
      contextId: "c1",
      append: true,
      artifact: { artifactId: "a1", parts: [{ kind: "text", text }] },
    });
    await using agent = await startRecordedAgent(
      sse(TASK, piece("one "), piece("two"), status("completed")),
    );
    const events = await Array.fromAsync(
      streamMessage(connect(agent), { message: MESSAGE }, deadline(), QUICK),
    );
    expect([madeText(events), events.at(-1)?.state]).toEqual([
      "one two",
      TaskState.COMPLETED,
    ]);
    expect(events.map(({ sequence }) => sequence)).toEqual([1n, 2n, 3n, 4n]);
  });

  it("answers with a whole ended task, or with a message alone", async () => {
    const whole = {
      ...TASK,
      status: { state: "completed" },
      artifacts: [
        { artifactId: "a1", parts: [{ kind: "text", text: "made" }] },
      ],
    };
    for (const [frame, text] of [
      [whole, "made"],
      [agentSays("said"), "said"],
    ] as const) {
      await using agent = await startRecordedAgent(sse(frame));
      const events = await Array.fromAsync(
        streamMessage(connect(agent), { message: MESSAGE }, deadline(), QUICK),
      );
      expect([
        joinText(events) + madeText(events),
        isTerminal(events.at(-1)?.state ?? TaskState.UNSPECIFIED),
      ]).toEqual([text, true]);
      await using unary = await startRecordedAgent(result(frame));
      const { task } = await connect(unary).tasks.sendMessage({
        message: MESSAGE,
      });
      expect(task?.state).toBe(TaskState.COMPLETED);
      const [made = task?.history.at(-1)] = task?.artifacts ?? [];
      expect(made?.parts[0]?.content.value).toBe(text);
    }
  });

  it("starts the answer to a question with the task as it was, which does not end the exchange", async () => {
    const asked = {
      ...TASK,
      status: { state: "input-required" },
      history: [agentSays("which one?")],
    };
    await using agent = await startRecordedAgent(
      sse(asked, status("working", "that one"), status("completed")),
    );
    const request = { message: MESSAGE, taskId: "t1", contextId: "c1" };
    const events = await Array.fromAsync(
      streamMessage(connect(agent), request, deadline(), QUICK),
    );
    expect([joinText(events), events.at(-1)?.state]).toEqual([
      "that one",
      TaskState.COMPLETED,
    ]);
  });

  it("sends the task again on a subscription, which repeats no text", async () => {
    await using agent = await startRecordedAgent(
      sse(TASK, status("working", "half")),
      sse({ ...TASK, status: { state: "completed" } }),
    );
    const events = await Array.fromAsync(
      streamMessage(connect(agent), { message: MESSAGE }, deadline(), QUICK),
    );
    expect(events.map(({ payload }) => payload.case)).toEqual([
      "created",
      "text",
      "stateChange",
    ]);
  });
});

function agentSays(text: string) {
  return {
    kind: "message",
    messageId: "a1",
    role: "agent",
    parts: [{ kind: "text", text }],
  };
}

function numbered(id: number, frame: unknown): string {
  return `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: frame })}\n\n`;
}

function connect({ url }: RecordedAgent): DevtoolClient {
  return createDevtoolClient(createA2aTransport({ url, token: "secret" }));
}
