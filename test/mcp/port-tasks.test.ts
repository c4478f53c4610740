import { join } from "node:path";
import { modifiedArgumentsPart, pendingToolCalls } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { mcp } from "@devtool/mcp/server";
import { type DevtoolServer, defaultDialects } from "@devtool/server";
import {
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  TaskStatusNotificationV2Schema,
} from "@modelcontextprotocol/ext-tasks/core/v2";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type ModernAnswer,
  type ModernRequest,
  modernRequest,
  openModern,
  TASK_HOST,
} from "./modern-request.ts";

describe("the Tasks extension (SEP-2663)", () => {
  let directory: string;
  let workspace: string;
  let server: DevtoolServer;
  const start = (limits = {}): Promise<DevtoolServer> =>
    serveCodingAgent({
      workspace,
      dataDirectory: join(directory, "data"),
      dialects: [mcp(), ...defaultDialects()],
      limits,
    });
  beforeEach(async () => {
    directory = temporaryDirectory();
    workspace = temporaryDirectory();
    server = await start();
  });
  afterEach(() => server.close());

  const ask = async (request: ModernRequest): Promise<ModernAnswer> =>
    (await modernRequest(server, request)).answer;
  const begin = async (prompt: string): Promise<string> => {
    const { result } = await ask({
      method: "tools/call",
      params: { name: "agent_devtool", arguments: { prompt } },
    });
    expect(CreateTaskResultV2Schema.safeParse(result).error).toBeUndefined();
    return result.taskId;
  };
  const get = async (taskId: string) => {
    const { result } = await ask({ method: "tasks/get", params: { taskId } });
    expect(GetTaskResultV2Schema.safeParse(result).error).toBeUndefined();
    return result;
  };
  const until = async (taskId: string, status: string) => {
    await expect.poll(async () => (await get(taskId)).status).toBe(status);
    return get(taskId);
  };
  const update = (taskId: string, inputResponses: Record<string, object>) =>
    ask({
      method: "tasks/update",
      params: {
        taskId,
        inputResponses: JSON.parse(JSON.stringify(inputResponses)),
      },
    });
  const approve = { action: "accept", content: { answer: "proceed_once" } };

  it("refuses to watch more than 100 tasks, and names the first too many", async () => {
    const watch = (count: number): ModernRequest => ({
      method: "subscriptions/listen",
      params: {
        notifications: {
          resourceSubscriptions: Array.from(
            { length: count },
            (_, at) => `devtool://tasks/${at}`,
          ),
        },
      },
    });
    const { error } = await ask(watch(101));
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('"devtool://tasks/100"'),
    });
  });

  it("returns a task, asks in it, and completes it with the result of the call", async () => {
    const taskId = await begin("write a.txt hello\ntext Written.");
    const { inputRequests } = await until(taskId, "input_required");
    const [key = ""] = Object.keys(inputRequests);
    expect(inputRequests[key]).toMatchObject({
      method: "elicitation/create",
      params: { mode: "form", message: expect.stringContaining("hello") },
    });
    expect(
      await update(taskId, { [key]: approve, unknown: approve }),
    ).toMatchObject({
      result: { resultType: "complete" },
    });
    const { result } = await until(taskId, "completed");
    expect(result.structuredContent).toMatchObject({ text: "Written." });
    expect(fileText(workspace, "a.txt")).toBe("hello");
    // Answered already: ignored, and nothing runs again.
    expect(await update(taskId, { [key]: approve })).toMatchObject({
      result: { resultType: "complete" },
    });
    expect((await get(taskId)).status).toBe("completed");
  });

  it("is there, with its question, for a host that comes back after a restart", async () => {
    const taskId = await begin("write a.txt hello\ntext Written.");
    const before = await until(taskId, "input_required");
    await server.close();
    server = await start();
    const after = await until(taskId, "input_required");
    expect(after.inputRequests).toEqual(before.inputRequests);
    const [key = ""] = Object.keys(after.inputRequests);
    await update(taskId, { [key]: approve });
    await until(taskId, "completed");
    expect(fileText(workspace, "a.txt")).toBe("hello");
  });

  it("uses no key twice, also for two questions that look the same", async () => {
    const taskId = await begin("write a.txt one");
    const client = clientOf(server);
    const keys: string[] = [];
    for (const content of ["two", "one", "two"]) {
      const { inputRequests } = await until(taskId, "input_required");
      keys.push(...Object.keys(inputRequests));
      const { task } = await client.tasks.getTask({ taskId });
      const [asked] = task ? pendingToolCalls(task) : [];
      if (!asked) throw new Error("no question is open");
      const args = { ...asked.inputParameters, content };
      const parts = [modifiedArgumentsPart(asked, args)];
      const message = { messageId: crypto.randomUUID(), parts };
      await client.tasks.sendMessage({ message, taskId });
    }
    const last = (await until(taskId, "input_required")).inputRequests;
    keys.push(...Object.keys(last));
    expect(keys.length).toBeGreaterThan(2);
    expect(new Set(keys).size).toBe(keys.length);
    expect(JSON.stringify(last)).toContain("+two");
  });

  it("cancels, and tells a failure of the agent from an error of the protocol", async () => {
    const waiting = await begin("wait 60000");
    expect(
      await ask({ method: "tasks/cancel", params: { taskId: waiting } }),
    ).toMatchObject({ result: { resultType: "complete" } });
    await until(waiting, "cancelled");
    expect(
      await ask({ method: "tasks/cancel", params: { taskId: waiting } }),
    ).toMatchObject({ result: { resultType: "complete" } });
    const failing = await begin("fail 400");
    expect((await until(failing, "completed")).result).toMatchObject({
      isError: true,
    });
  });

  const listen = (taskIds: readonly string[]): ModernRequest => ({
    method: "subscriptions/listen",
    params: { notifications: { taskIds: [...taskIds] } },
  });

  it("tells a subscriber each status of a task, whole, and of no other task", async () => {
    const taskId = await begin("write a.txt hello\ntext Written.");
    await until(taskId, "input_required");
    const stop = new AbortController();
    const response = await openModern(
      server,
      listen([taskId, "nobody"]),
      stop.signal,
    );
    const told = messagesOf(response);
    expect((await told.next()).value).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: {
        notifications: { taskIds: [taskId] },
        _meta: { "io.modelcontextprotocol/subscriptionId": 1 },
      },
    });
    const next = async () => {
      const { value } = await told.next();
      expect(TaskStatusNotificationV2Schema.safeParse(value).error).toBe(
        undefined,
      );
      return Object(value).params;
    };
    const asked = await next();
    expect(asked).toMatchObject({
      taskId,
      status: "input_required",
      _meta: { "io.modelcontextprotocol/subscriptionId": 1 },
    });
    const [key = ""] = Object.keys(asked.inputRequests);
    await update(taskId, { [key]: approve });
    let last = await next();
    while (last.status !== "completed") last = await next();
    expect(last.result.structuredContent).toMatchObject({ text: "Written." });
    stop.abort();
  });

  it("tells a host without forms no question, and the statuses after it", async () => {
    const taskId = await begin("write a.txt hello\ntext Written.");
    const { inputRequests } = await until(taskId, "input_required");
    const stop = new AbortController();
    const { extensions } = TASK_HOST;
    const told = messagesOf(
      await openModern(
        server,
        { ...listen([taskId]), capabilities: { extensions } },
        stop.signal,
      ),
    );
    await told.next();
    const [key = ""] = Object.keys(inputRequests);
    await update(taskId, { [key]: approve });
    const statuses: string[] = [];
    while (statuses.at(-1) !== "completed") {
      const { params } = Object((await told.next()).value);
      expect(params.inputRequests).toBe(undefined);
      statuses.push(params.status);
    }
    expect(statuses).not.toContain("input_required");
    stop.abort();
  });

  it("goes on after a task that has ended in a new one, as no status follows its last", async () => {
    const first = await begin("write a.txt hello\ntext Written.");
    const { inputRequests } = await until(first, "input_required");
    const [key = ""] = Object.keys(inputRequests);
    await update(first, { [key]: approve });
    const ended = await until(first, "completed");
    const { result } = await ask({
      method: "tools/call",
      params: {
        name: "agent_devtool",
        arguments: { prompt: "text Hello.", taskId: first },
      },
    });
    expect(CreateTaskResultV2Schema.safeParse(result).error).toBeUndefined();
    expect(result.taskId).not.toBe(first);
    expect(await until(result.taskId, "completed")).toMatchObject({
      result: { structuredContent: { text: "Hello." } },
    });
    expect(await get(first)).toEqual(ended);
    const { tasks } = clientOf(server);
    const { task: before } = await tasks.getTask({ taskId: first });
    const { task: after } = await tasks.getTask({ taskId: result.taskId });
    expect(after?.contextId).toBe(before?.contextId);
    expect(after?.settings?.workspacePath).toBe(workspace);
    expect(after?.history[0]?.referenceTaskIds).toEqual([first]);
  });

  it("counts a subscription to several tasks as one stream, and ends one too many", async () => {
    await server.close();
    server = await start({ maxStreamsPerCaller: 1 });
    const both = [
      await begin("write a.txt hello"),
      await begin("write b.txt hello"),
    ];
    for (const taskId of both) await until(taskId, "input_required");
    const stop = new AbortController();
    const told = messagesOf(
      await openModern(server, listen(both), stop.signal),
    );
    await told.next();
    const seen = new Set<string>();
    const ended = new Set<string>();
    const next = async () => {
      const { taskId, status } = Object((await told.next()).value).params;
      (status === "cancelled" ? ended : seen).add(taskId);
    };
    while (seen.size < 2) await next();
    for (const taskId of both) {
      await ask({ method: "tasks/cancel", params: { taskId } });
    }
    while (ended.size < 2) await next();
    expect([seen, ended]).toEqual([new Set(both), new Set(both)]);
    const third = await begin("write c.txt hello");
    await until(third, "input_required");
    const open = messagesOf(
      await openModern(server, listen([third]), stop.signal),
    );
    await open.next();
    const over = messagesOf(await openModern(server, listen([third])));
    const rest: unknown[] = [];
    for await (const message of over) rest.push(message);
    expect(rest.at(-1)).toMatchObject({
      id: 1,
      error: {
        message: expect.stringContaining("streams: the caller has 1 open"),
      },
    });
    stop.abort();
  });

  it("tells hosts without it nothing of tasks, nor what is no list of ids", async () => {
    const request = listen(["a"]);
    const without = await modernRequest(server, {
      ...request,
      capabilities: { elicitation: { form: {} } },
    });
    expect(without).toMatchObject({
      status: 400,
      answer: { error: { code: -32_021 } },
    });
    const odd = await ask({
      method: "subscriptions/listen",
      params: { notifications: { taskIds: [1] } },
    });
    expect(odd.error).toMatchObject({
      code: -32_602,
      message: expect.stringContaining("taskIds [1]"),
    });
    const many = await ask(
      listen(Array.from({ length: 101 }, (_, at) => String(at))),
    );
    expect(many.error).toMatchObject({
      message: expect.stringContaining('"100"'),
    });
  });

  it("is refused to hosts that do not declare it", async () => {
    const capabilities = { elicitation: { form: {} } };
    const call = await ask({
      method: "tools/call",
      params: { name: "agent_devtool", arguments: { prompt: "text Hi." } },
      capabilities,
    });
    expect(call.result).toMatchObject({
      resultType: "complete",
      structuredContent: { text: "Hi." },
    });
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const params = { taskId: call.result.structuredContent.taskId };
      expect(
        await modernRequest(server, { method, params, capabilities }),
      ).toMatchObject({
        status: 400,
        answer: {
          error: {
            code: -32_021,
            data: {
              requiredCapabilities: {
                extensions: { "io.modelcontextprotocol/tasks": {} },
              },
            },
          },
        },
      });
    }
  });

  it("asks nothing in a task of a host that has no forms", async () => {
    const taskId = await begin("write a.txt hello");
    await until(taskId, "input_required");
    const capabilities = { extensions: TASK_HOST.extensions };
    const params = { taskId };
    const { status, answer } = await modernRequest(server, {
      ...{ method: "tasks/get", params, capabilities },
    });
    expect([status, answer.error]).toEqual([
      400,
      expect.objectContaining({
        code: -32_021,
        data: { requiredCapabilities: { elicitation: { form: {} } } },
      }),
    ]);
    // Its model gets the question, and answers.
    const { result } = await ask({
      method: "tools/call",
      params: { name: "task_wait", arguments: params },
      capabilities,
    });
    expect(result.structuredContent.questions).toHaveLength(1);
    await ask({ method: "tasks/cancel", params, capabilities });
    expect(
      (await ask({ method: "tasks/get", params, capabilities })).result.status,
    ).toBe("cancelled");
  });

  it("refuses what is malformed, and names it", async () => {
    const taskId = await begin("write a.txt hello");
    const { inputRequests } = await until(taskId, "input_required");
    const [key = ""] = Object.keys(inputRequests);
    const unknown = { method: "tasks/get", params: { taskId: "nobody" } };
    expect((await ask(unknown)).error).toMatchObject({
      code: -32_602,
      message: expect.stringContaining("nobody"),
    });
    const wrong = await update(taskId, { [key]: { action: "maybe" } });
    expect(wrong.error).toMatchObject({
      code: -32_602,
      message: expect.stringContaining("maybe"),
    });
    const none = await ask({ method: "tasks/update", params: { taskId } });
    expect(none.error).toMatchObject({ code: -32_602 });
    expect((await get(taskId)).status).toBe("input_required");
  });

  it.each<[string, Record<string, string | undefined>]>([
    ["Mcp-Method of another method", { "mcp-method": "tools/list" }],
    ["Mcp-Method in other letters", { "mcp-method": "TOOLS/CALL" }],
    ["no Mcp-Method", { "mcp-method": undefined }],
    ["Mcp-Name of another tool", { "mcp-name": "task_wait" }],
    ["Mcp-Name twice", { "mcp-name": "agent_devtool, agent_devtool" }],
    ["no Mcp-Name", { "mcp-name": undefined }],
    [
      "MCP-Protocol-Version of another revision",
      { "mcp-protocol-version": "2025-11-25" },
    ],
  ])(
    "refuses a request whose headers do not match its body, and runs nothing: %s",
    async (_what, headers) => {
      const args = { prompt: "text Ran." };
      const { status, answer } = await modernRequest(server, {
        method: "tools/call",
        params: { name: "agent_devtool", arguments: args },
        headers,
      });
      expect([status, answer.error?.code]).toEqual([400, -32_020]);
      const { result } = await ask({ method: "resources/list" });
      expect(result.resources).toEqual([]);
    },
  );

  it.each([
    ["tasks/get", (taskId: string) => ({ taskId })],
    ["tasks/update", (taskId: string) => ({ taskId, inputResponses: {} })],
    ["tasks/cancel", (taskId: string) => ({ taskId })],
    [
      "resources/read",
      (taskId: string) => ({ uri: `devtool://tasks/${taskId}` }),
    ],
  ] as const)(
    "refuses %s whose Mcp-Name is not the task or the resource of its body",
    async (method, paramsOf) => {
      const taskId = await begin("write a.txt hello");
      await until(taskId, "input_required");
      const params = paramsOf(taskId);
      for (const name of ["another", undefined]) {
        const headers = { "mcp-name": name };
        const { status, answer } = await modernRequest(server, {
          ...{ method, params, headers },
        });
        expect([status, answer.error?.code]).toEqual([400, -32_020]);
      }
      expect((await get(taskId)).status).toBe("input_required");
    },
  );

  it("says in server/discover what it speaks", async () => {
    const { result } = await ask({ method: "server/discover" });
    expect(result).toMatchObject({
      supportedVersions: ["2026-07-28"],
      capabilities: {
        tools: {},
        extensions: { "io.modelcontextprotocol/tasks": {} },
      },
    });
    const { result: list } = await ask({ method: "tools/list" });
    expect(list).toMatchObject({ ttlMs: 60_000, cacheScope: "private" });
    const taskId = await begin("text Hello.");
    const uri = `devtool://tasks/${taskId}`;
    for (const [method, params, hints] of [
      ["resources/list", {}, { ttlMs: 0, cacheScope: "private" }],
      ["resources/read", { uri }, { ttlMs: 0, cacheScope: "private" }],
      ["resources/templates/list", {}, { ttlMs: 60_000, cacheScope: "public" }],
    ] as const) {
      expect((await ask({ method, params })).result).toMatchObject(hints);
    }
  });
});

/** Yields the messages of an event stream. */
async function* messagesOf({ body }: Response): AsyncGenerator<unknown> {
  const text = (body ?? new ReadableStream()).pipeThrough(
    new TextDecoderStream(),
  );
  let rest = "";
  for await (const chunk of text) {
    const frames = `${rest}${chunk}`.split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}
