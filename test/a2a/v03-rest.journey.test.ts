import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

let nextId = 0;

describe("the HTTP+JSON binding of A2A 0.3", () => {
  let server: DevtoolServer;
  let workspace: string;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({
      workspace,
      limits: { maxRequestBytes: 5000 },
    });
  });
  afterAll(() => server.close());

  it("reads and writes ProtoJSON: variants by their fields, states and roles by the names of enums", async () => {
    const sent = await post("message:send", {
      message: scriptMessage("text hello"),
      configuration: { blocking: true },
    });
    expect(sent.status).toBe(200);
    expect(sent.json.task).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      history: [
        { role: "ROLE_USER", content: [{ text: "text hello" }] },
        { role: "ROLE_AGENT", content: [{ text: "hello" }] },
      ],
    });
    expect(JSON.stringify(sent.json.task.history)).not.toContain('"parts"');
    expect(sent.json.task.kind).toBeUndefined();
    const read = await get(`tasks/${sent.json.task.id}?historyLength=1`);
    expect([read.json.id, read.json.history.length]).toEqual([
      sent.json.task.id,
      1,
    ]);
  });

  it.each([
    {
      form: "the names of JSON-RPC",
      message: {
        kind: "message",
        role: "user",
        parts: [{ kind: "text", text: "text hi" }],
      },
    },
    {
      form: "snake_case",
      message: {
        role: "ROLE_USER",
        content: [{ text: "text hi" }],
        message_id: "snake",
      },
    },
    {
      form: "numbers for enums",
      message: { role: 1, content: [{ text: "text hi" }] },
    },
    {
      form: "parts without kind",
      message: { role: "user", parts: [{ text: "text hi" }] },
    },
  ])("also reads $form", async ({ message }) => {
    const all = {
      message: { messageId: `form-${nextId++}`, ...message },
      configuration: { blocking: true },
    };
    const { status, json } = await post("message:send", all);
    expect([status, json.task?.status.state]).toEqual([
      200,
      "TASK_STATE_COMPLETED",
    ]);
  });

  it("does not wait when the configuration has no blocking field, as ProtoJSON omits false", async () => {
    const { json } = await post("message:send", {
      message: scriptMessage("wait 60000\ntext late"),
      configuration: {},
    });
    expect(json.task.status.state).not.toBe("TASK_STATE_COMPLETED");
    await post(`tasks/${json.task.id}:cancel`);
  });

  it("streams events with ids, uses the extension for clients that name it, and resumes after an id (STREAM-3)", async () => {
    const headers = { "x-a2a-extensions": EXTENSION_URI };
    const response = await send(
      "POST",
      "message:stream",
      { message: scriptMessage("think\ntext one") },
      headers,
    );
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-a2a-extensions")).toBe(EXTENSION_URI);
    const events = eventsIn(await response.text());
    const kinds = events.map(({ data }) => Object.keys(data)[0]);
    expect([kinds[0], ...new Set(kinds.slice(1))]).toEqual([
      "task",
      "statusUpdate",
    ]);
    const last = events.at(-1)?.data.statusUpdate;
    expect(last).toMatchObject({
      final: true,
      status: { state: "TASK_STATE_COMPLETED" },
    });
    expect(last.metadata).toHaveProperty([EXTENSION_URI]);
    const again = await send(
      "GET",
      `tasks/${last.taskId}:subscribe`,
      undefined,
      { ...headers, "last-event-id": "2" },
    );
    expect(eventsIn(await again.text()).map(({ id }) => id)).toEqual(
      events.slice(2).map(({ id }) => id),
    );
  });

  it("carries questions and answers of the extension in data parts (TOOL-5)", async () => {
    const headers = { "a2a-extensions": EXTENSION_URI };
    const asked = await post(
      "message:send",
      { message: scriptMessage("write a.txt x\ntext done") },
      headers,
    );
    const { id, contextId, status } = asked.json.task;
    const call = status.message.content.at(-1).data.data;
    expect(call).toMatchObject({ tool_name: "write_file", status: "PENDING" });
    const data = {
      tool_call_id: call.tool_call_id,
      selected_option_id: "proceed_once",
    };
    const answer = {
      ...scriptMessage(""),
      taskId: id,
      contextId,
      content: [{ data: { data } }],
    };
    const { json } = await post("message:send", { message: answer }, headers);
    expect(json.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(fileText(workspace, "a.txt")).toBe("x");
  });

  it.each([
    {
      what: "an unknown task",
      verb: "GET",
      path: "tasks/nobody",
      status: 404,
      code: JsonRpcCode.TASK_NOT_FOUND,
    },
    {
      what: "an unknown path",
      verb: "GET",
      path: "nothing",
      status: 404,
      code: JsonRpcCode.METHOD_NOT_FOUND,
    },
    {
      what: "a wrong verb",
      verb: "DELETE",
      path: "tasks/t",
      status: 405,
      code: JsonRpcCode.METHOD_NOT_FOUND,
    },
    {
      what: "a broken id",
      verb: "GET",
      path: "tasks/%zz",
      status: 400,
      code: JsonRpcCode.INVALID_PARAMS,
    },
    {
      what: "no message",
      verb: "POST",
      path: "message:send",
      body: {},
      status: 400,
      code: JsonRpcCode.INVALID_PARAMS,
    },
    {
      what: "a list",
      verb: "POST",
      path: "message:send",
      body: [],
      status: 400,
      code: JsonRpcCode.INVALID_REQUEST,
    },
    {
      what: "no JSON",
      verb: "POST",
      path: "message:send",
      body: "{",
      status: 400,
      code: JsonRpcCode.PARSE_ERROR,
    },
    {
      what: "too much",
      verb: "POST",
      path: "message:send",
      body: { text: "x".repeat(6000) },
      status: 413,
      code: JsonRpcCode.INVALID_REQUEST,
    },
    {
      what: "a history length below 0",
      verb: "GET",
      path: "tasks/t?historyLength=-1",
      status: 400,
      code: JsonRpcCode.INVALID_PARAMS,
    },
    {
      what: "a history length that is not a number",
      verb: "GET",
      path: "tasks/t?historyLength=many",
      status: 400,
      code: JsonRpcCode.INVALID_PARAMS,
    },
  ])(
    "answers $what with $status and the error as the body (ERR-1)",
    async ({ verb, path, body, status, code }) => {
      const response = await send(verb, path, body);
      const json = JSON.parse(await response.text());
      expect([response.status, json.code]).toEqual([status, code]);
      expect(json).toMatchObject({
        message: expect.stringMatching(/./),
        type: expect.stringMatching(/Error$/),
      });
    },
  );

  it("answers a second cancel with 409", async () => {
    const { json } = await post("message:send", {
      message: scriptMessage("wait 60000"),
      configuration: {},
    });
    const canceled = await post(`tasks/${json.task.id}:cancel`);
    expect([canceled.status, canceled.json.status.state]).toEqual([
      200,
      "TASK_STATE_CANCELLED",
    ]);
    const again = await post(`tasks/${json.task.id}:cancel`, {});
    expect([again.status, again.json.code]).toEqual([
      409,
      JsonRpcCode.TASK_NOT_CANCELABLE,
    ]);
  });

  it("refuses another content type, and needs none for an empty body", async () => {
    const response = await send("POST", "message:send", "<xml/>", {
      "content-type": "text/xml",
    });
    expect(response.status).toBe(415);
    expect(
      (await send("GET", "card", undefined, { "content-type": "" })).status,
    ).toBe(200);
  });

  async function post(
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ) {
    const response = await send("POST", path, body, headers);
    return { status: response.status, json: JSON.parse(await response.text()) };
  }

  async function get(path: string) {
    const response = await send("GET", path);
    return { status: response.status, json: JSON.parse(await response.text()) };
  }

  function send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    const text =
      typeof body === "string" || body === undefined
        ? body
        : JSON.stringify(body);
    const all = {
      "content-type": "application/json",
      authorization: `Bearer ${server.token}`,
      ...headers,
    };
    return fetch(`${server.url}/v1/${path}`, {
      method,
      headers: all,
      ...(text !== undefined && { body: text }),
    });
  }
});

function scriptMessage(script: string) {
  return {
    messageId: `rest-${nextId++}`,
    role: "ROLE_USER",
    content: [{ text: script }],
  };
}

function eventsIn(stream: string) {
  return stream.split("\n\n").flatMap((block) => {
    const { id, data } =
      /^id: (?<id>\d+)\ndata: (?<data>.+)$/.exec(block)?.groups ?? {};
    return data === undefined ? [] : [{ id, data: JSON.parse(data) }];
  });
}
