import { gzipSync } from "node:zlib";
import { createTckAgent } from "@devtool/cli/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../post-json.ts";

type Json = Record<string, unknown>;

const HELLO = {
  messageId: "m",
  role: "user",
  parts: [{ kind: "text", text: "text hi" }],
};
const LONG = "x".repeat(500);

describe("errors (ERR-1)", () => {
  let server: DevtoolServer;
  let workspace: string;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace });
  });
  afterAll(() => server.close());

  it.each<{
    method: string;
    params: unknown;
    code: number;
    says: string;
    field?: string;
  }>([
    {
      method: "message/send",
      params: { message: { ...HELLO, messageId: "" } },
      code: -32602,
      says: "message.messageId is missing",
      field: "message.messageId",
    },
    {
      method: "message/send",
      params: [1, 2],
      code: -32602,
      says: "params must be an object, got [1,2]",
      field: "params",
    },
    {
      method: "message/send",
      params: { message: { ...HELLO, contextId: 5 } },
      code: -32602,
      says: "message.contextId must be a string, got 5",
    },
    {
      method: "message/send",
      params: { message: { ...HELLO, parts: [{ type: "text", text: "x" }] } },
      code: -32602,
      says: 'message.parts[0].type "text" is not a field of A2A 0.3: write "kind": "text"',
    },
    {
      method: "message/send",
      params: { message: { ...HELLO, role: "ROLE_USER" } },
      code: -32602,
      says: "is written as in A2A 1.0, and this method is of A2A 0.3",
    },
    {
      method: "SendMessage",
      params: { message: HELLO },
      code: -32602,
      says: "is written as in A2A 0.3, and this method is of A2A 1.0",
    },
    {
      method: "tasks/get",
      params: { id: "none" },
      code: -32001,
      says: 'task "none" does not exist',
      field: "id",
    },
    {
      method: "tasks/cancel",
      params: { id: "none" },
      code: -32001,
      says: 'task "none" does not exist',
      field: "id",
    },
    {
      method: "tasks/resubscribe",
      params: { id: "none" },
      code: -32001,
      says: "does not exist",
      field: "id",
    },
    {
      method: "tasks/pushNotificationConfig/list",
      params: { id: "none" },
      code: -32001,
      says: "exist",
      field: "id",
    },
    {
      method: "message/withdraw",
      params: { taskId: "none", messageId: "m" },
      code: -32001,
      says: 'task "none" does not exist',
      field: "taskId",
    },
    {
      method: "message/send",
      params: { message: { ...HELLO, taskId: "none" } },
      code: -32001,
      says: 'task "none" does not exist',
      field: "taskId",
    },
    {
      method: "tasks/get",
      params: {},
      code: -32602,
      says: "id is missing: name the task",
      field: "id",
    },
    {
      method: "tasks/pushNotificationConfig/set",
      params: { pushNotificationConfig: { url: "https://a.example/" } },
      code: -32602,
      says: "taskId is missing: name the task",
      field: "taskId",
    },
    {
      method: LONG,
      params: {},
      code: -32601,
      says: "does not exist: choose message/send",
    },
  ])(
    "of $method name the fields as the client does: $says",
    async ({ method, params, code, says, field }) => {
      const { error } = await rpc({ jsonrpc: "2.0", id: 1, method, params });
      expect(error).toMatchObject({
        code,
        message: expect.stringContaining(says),
      });
      if (field !== undefined) expect(error).toMatchObject({ data: { field } });
      expect(JSON.stringify(error)).not.toMatch(
        /devtool\.(a2a\.)?v1alpha|x{81}/,
      );
    },
  );

  it("about the context of another task are a sentence", async () => {
    const { result } = await rpc(send({ ...HELLO, messageId: "first" }));
    const { error } = await rpc(
      send({
        ...HELLO,
        messageId: "second",
        taskId: result?.id,
        contextId: "nope",
      }),
    );
    const sentence = `contextId "nope" is not the context of task "${String(result?.id)}": send its own, or none`;
    expect(error).toMatchObject({
      code: -32602,
      message: sentence,
      data: { field: "contextId", value: "nope" },
    });
  });

  it("about the position to resume from name its header", async () => {
    const { result } = await rpc(send({ ...HELLO, messageId: "resumed" }));
    for (const method of ["tasks/resubscribe", "SubscribeToTask"]) {
      const body = {
        jsonrpc: "2.0",
        id: 1,
        method,
        params: { id: result?.id },
      };
      const text = await (
        await post("/", body, { "last-event-id": "999" })
      ).text();
      expect(text).toContain("Last-Event-ID 999 is out of range");
      expect(text).not.toContain("after_sequence");
    }
  });

  it("about a push config name it as each version does", async () => {
    const { result } = await rpc(send({ ...HELLO, messageId: "configured" }));
    const old = {
      method: "tasks/pushNotificationConfig/delete",
      params: { id: result?.id },
    };
    expect((await rpc({ jsonrpc: "2.0", id: 1, ...old })).error).toMatchObject({
      message: "pushNotificationConfigId is missing: name the config to delete",
    });
    const current = {
      method: "GetTaskPushNotificationConfig",
      params: { taskId: result?.id, id: "none" },
    };
    expect(
      (await rpc({ jsonrpc: "2.0", id: 1, ...current })).error,
    ).toMatchObject({
      code: -32001,
      data: [{ metadata: { id: "none" } }],
    });
  });

  it("quote at most 80 characters of a request", async () => {
    for (const message of [
      { ...HELLO, contextId: LONG, taskId: "t" },
      { ...HELLO, kind: LONG },
      { ...HELLO, role: LONG },
    ]) {
      const { error } = await rpc(send(message));
      expect(error?.code).toBeLessThan(0);
      expect(JSON.stringify(error)).not.toMatch(/x{81}/);
    }
    for (const message of [
      LONG,
      { ...HELLO, parts: LONG },
      { ...HELLO, messageId: [LONG] },
    ]) {
      const { error } = await rpc({
        jsonrpc: "2.0",
        id: 1,
        method: "message/send",
        params: { message },
      });
      expect(error?.code).toBe(-32602);
      expect(JSON.stringify(error)).not.toMatch(/x{81}/);
    }
  });

  it.each([
    {
      what: "a method that does not exist",
      method: "nothing/here",
      code: -32601,
    },
    { what: "a method of A2A 0.3", method: "tasks/get", code: -32600 },
    { what: "a method of A2A 1.0", method: "GetTask", code: -32600 },
  ])(
    "of a request without an id report $what first: $code",
    async ({ method, code }) => {
      const { error } = await rpc({ jsonrpc: "2.0", method, params: {} });
      expect(error?.code).toBe(code);
    },
  );

  it.each([
    {
      method: "message/stream",
      params: { message: { ...HELLO, role: "wizard" } },
      code: -32602,
    },
    { method: "tasks/resubscribe", params: { id: "none" }, code: -32001 },
  ])(
    "before the first event of $method are its only event, for a client that takes a stream",
    async ({ method, params, code }) => {
      const body = { jsonrpc: "2.0", id: 7, method, params };
      const streamed = await post("/", body, { accept: "text/event-stream" });
      expect([streamed.status, streamed.headers.get("content-type")]).toEqual([
        200,
        "text/event-stream",
      ]);
      const [, data = ""] =
        /^data: (.*)\n\n$/.exec(await streamed.text()) ?? [];
      expect(JSON.parse(data)).toMatchObject({
        jsonrpc: "2.0",
        id: 7,
        error: { code },
      });
      const plain = await post("/", body, { accept: "*/*" });
      expect(plain.headers.get("content-type")).toBe("application/json");
      expect(await plain.json()).toMatchObject({ id: 7, error: { code } });
    },
  );

  it("do not occur for an empty authentication in a push config", async () => {
    const { result } = await rpc(send({ ...HELLO, messageId: "pushed" }));
    const config = { url: "https://93.184.215.14/hook", authentication: {} };
    const params = { taskId: result?.id, pushNotificationConfig: config };
    const set = await rpc({
      jsonrpc: "2.0",
      id: 1,
      method: "tasks/pushNotificationConfig/set",
      params,
    });
    expect(set.result).toMatchObject({
      pushNotificationConfig: { url: config.url },
    });
  });

  describe("about a push config name the field as the client wrote it", () => {
    const authentication = { schemes: ["not a scheme"], credentials: "x" };
    const v03 = { url: "https://93.184.215.14/hook", authentication };
    const v1 = {
      url: v03.url,
      authentication: { scheme: "not a scheme", credentials: "x" },
    };
    const said = {
      role: "ROLE_USER",
      messageId: "v1",
      parts: [{ text: "text hi" }],
    };
    const sentV1 = {
      message: said,
      configuration: { taskPushNotificationConfig: v1 },
    };
    const sent = {
      message: { ...HELLO, messageId: "v03" },
      configuration: { pushNotificationConfig: v03 },
    };
    const V1_PATH =
      "configuration.taskPushNotificationConfig.authentication.scheme";
    const V03_PATH =
      "configuration.pushNotificationConfig.authentication.schemes";

    it.each([
      { method: "message/send", params: sent, field: V03_PATH },
      { method: "message/stream", params: sent, field: V03_PATH },
      { method: "SendMessage", params: sentV1, field: V1_PATH },
      { method: "SendStreamingMessage", params: sentV1, field: V1_PATH },
    ])("$method: $field", async ({ method, params, field }) => {
      const { error } = await rpc({ jsonrpc: "2.0", id: 1, method, params });
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(`^${field} "not a scheme" is not`),
      });
      expect(JSON.stringify(error)).toContain(`"field":"${field}"`);
    });

    it.each([
      {
        method: "tasks/pushNotificationConfig/set",
        params: (taskId: unknown) => ({ taskId, pushNotificationConfig: v03 }),
        field: "pushNotificationConfig.authentication.schemes",
      },
      {
        method: "CreateTaskPushNotificationConfig",
        params: (taskId: unknown) => ({ taskId, ...v1 }),
        field: "authentication.scheme",
      },
    ])("$method: $field", async ({ method, params, field }) => {
      const { result } = await rpc(
        send({ ...HELLO, messageId: `configured-${method}` }),
      );
      const { error } = await rpc({
        jsonrpc: "2.0",
        id: 1,
        method,
        params: params(result?.id),
      });
      expect(JSON.stringify(error)).toContain(`"field":"${field}"`);
      expect(error?.message).toMatch(`${field} "not a scheme"`);
    });

    it("SendMessage of Connect: push_config.authentication.scheme", async () => {
      const request = {
        message: { messageId: "c1", parts: [{ text: "text hi" }] },
        pushConfig: v1,
      };
      const response = await post(
        "/devtool.v1alpha.TaskService/SendMessage",
        request,
        {},
      );
      expect(await response.text()).toContain(
        "push_config.authentication.scheme",
      );
    });
  });

  it("of Connect with JSON name an unknown field, which may be a restriction (JSON-2)", async () => {
    const message = { messageId: "c", parts: [{ text: "text hi" }] };
    const restricted = {
      message,
      sessionSettings: { allowedTool: ["read_file"] },
    };
    const response = await post(
      "/devtool.v1alpha.TaskService/SendMessage",
      restricted,
      {},
    );
    expect(response.status).toBe(400);
    const error: Json = JSON.parse(await response.text());
    expect(error).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining('"allowedTool" is unknown'),
    });
    expect(JSON.stringify(error)).not.toContain("devtool.v1alpha");
  });

  it.each(["identity", "gzip"])(
    "of Connect with JSON are none for either spelling of a field (JSON-2, %s)",
    async (encoding) => {
      const spelled = [
        { message: { messageId: "s1" }, settings: { workspacePath: "/no/1" } },
        {
          message: { message_id: "s2" },
          settings: { workspace_path: "/no/2" },
        },
      ];
      const path = "/devtool.v1alpha.TaskService";
      for (const [index, { message, settings }] of spelled.entries()) {
        const parts = [{ text: "text hi" }];
        const request = { message: { ...message, parts }, settings };
        const one = await postBytes(
          `${path}/SendMessage`,
          Buffer.from(JSON.stringify(request)),
          { "content-type": "application/json", "content-encoding": encoding },
        );
        expect(one).toContain(`"/no/${index + 1}`);
        const frame = Buffer.from(JSON.stringify({ request }));
        const stream = await postBytes(`${path}/StreamMessage`, frame, {
          "content-type": "application/connect+json",
          "connect-content-encoding": encoding,
        });
        expect(stream).toContain(`"/no/${index + 1}`);
      }
    },
  );

  it("of Connect with JSON name a field that is given in both spellings (JSON-2)", async () => {
    const message = { messageId: "c", parts: [{ text: "text hi" }] };
    const settings = { workspace_path: "/one", workspacePath: "/two" };
    const response = await post(
      "/devtool.v1alpha.TaskService/SendMessage",
      { message, settings },
      {},
    );
    expect(await response.json()).toMatchObject({
      code: "invalid_argument",
      message:
        "settings.workspacePath is given twice, also as workspace_path: send it once",
    });
  });

  /** Posts a message, in an envelope for a stream, and returns the answer. */
  async function postBytes(
    path: string,
    bytes: Buffer,
    headers: Record<string, string>,
  ): Promise<string> {
    const isGzip = Object.values(headers).includes("gzip");
    const sent = isGzip ? gzipSync(bytes) : bytes;
    const head = Buffer.from([isGzip ? 1 : 0, 0, 0, 0, 0]);
    head.writeUInt32BE(sent.length, 1);
    const isStream = headers["content-type"] !== "application/json";
    const authorization = `Bearer ${server.token}`;
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { authorization, ...headers },
      body: isStream ? Buffer.concat([head, sent]) : sent,
    });
    return response.text();
  }

  function send(message: Json): Json {
    return {
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message },
    };
  }

  async function rpc(body: Json): Promise<Reply> {
    const reply: Reply = JSON.parse(await (await post("/", body, {})).text());
    return reply;
  }

  function post(
    path: string,
    body: Json,
    headers: Record<string, string>,
  ): Promise<Response> {
    return postJson(server, path, body, headers);
  }
});

describe("the extended card of A2A 0.3", () => {
  it.each(["JSON-RPC", "HTTP+JSON"])(
    "needs credentials even where anonymous callers are accepted, over %s (section 7.10)",
    async (binding) => {
      const agents = {
        test: createTckAgent({ ordinary: "completed", streamingTimeoutMs: 1 }),
      };
      await using server = await createServer({ anonymous: "admit", agents });
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "agent/getAuthenticatedExtendedCard",
      });
      const response =
        binding === "JSON-RPC"
          ? await fetch(server.url, { method: "POST", headers, body })
          : await fetch(`${server.url}/v1/card`);
      expect([
        response.status,
        response.headers.get("www-authenticate"),
      ]).toEqual([401, "Bearer"]);
      expect(await response.text()).toContain("send credentials");
    },
  );
});

interface Reply {
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string };
}
