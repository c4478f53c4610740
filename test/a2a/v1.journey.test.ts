import { randomUUID } from "node:crypto";
import {
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import {
  type Model,
  type ModelRequest,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import {
  A2AService,
  type A2aTask,
  A2aTaskState,
  BadRequestSchema,
  ErrorInfoSchema,
} from "@devtool/schema/a2a-v1";
import { A2aRole } from "@devtool/schema/testing";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

let server: DevtoolServer;
beforeAll(async () => {
  server = await serveCodingAgent({ workspace: process.cwd() });
});
afterAll(() => server.close());

const EXT = { "a2a-extensions": EXTENSION_URI };

describe("the agent card", () => {
  const get = (headers: Record<string, string> = {}, query = "") =>
    fetch(`${server.url}/.well-known/agent-card.json${query}`, { headers });
  const card = async (headers: Record<string, string> = {}, query = "") =>
    json(await get(headers, query));

  it("has the form of 1.0 for clients that ask for it, and both forms in one for others (CARD-1)", async () => {
    const v1 = await card({ "a2a-version": "1.0" });
    expect(Object.keys(v1)).not.toContain("url");
    const scheme = { scheme: "bearer", description: "The operator's token." };
    expect(v1.securitySchemes).toEqual({
      bearer: { httpAuthSecurityScheme: scheme },
    });
    expect(v1.securityRequirements).toEqual([
      { schemes: { bearer: { list: ["operator"] } } },
    ]);
    expect(v1.capabilities.extensions[0]).toMatchObject({ uri: EXTENSION_URI });
    expect(
      v1.supportedInterfaces.map(
        (item: { protocolBinding: string }) => item.protocolBinding,
      ),
    ).toEqual(["JSONRPC", "HTTP+JSON", "JSONRPC", "HTTP+JSON"]);
    const hybrid = await card();
    expect(hybrid).toMatchObject({
      protocolVersion: "0.3.0",
      url: `${server.url}/`,
      supportedInterfaces: v1.supportedInterfaces,
    });
    expect(hybrid.securitySchemes.bearer).toEqual({
      type: "http",
      ...scheme,
      httpAuthSecurityScheme: scheme,
    });
    expect(await card({}, "?A2A-Version=1.0")).toEqual(v1);
  });

  it("I1: lists only URLs of its own origin to everybody, and gRPC to callers with credentials", async () => {
    const addresses = (read: { supportedInterfaces: { url: string }[] }) =>
      read.supportedInterfaces.map(({ url }) => url);
    for (const version of ["", "0.3", "1.0"]) {
      const read = await card({ "a2a-version": version });
      for (const url of addresses(read)) {
        expect(URL.parse(url)?.origin).toBe(server.url);
      }
    }
    const extended = await fetch(`${server.url}/extendedAgentCard`, {
      headers: {
        authorization: `Bearer ${server.token}`,
        "a2a-version": "1.0",
      },
    });
    expect(addresses(await json(extended))).toContain(new URL(server.url).host);
  });

  it("has an ETag for each form and a Vary header", async () => {
    const [one, other] = [await get(), await get({ "a2a-version": "1.0" })];
    expect(one.headers.get("vary")).toBe("A2A-Version");
    expect(one.headers.get("etag")).not.toBe(other.headers.get("etag"));
    const again = await get({
      "a2a-version": "1.0",
      "if-none-match": other.headers.get("etag") ?? "",
    });
    expect(again.status).toBe(304);
  });
});

describe("the version of a request", () => {
  it.each([
    ["1.0", "GetTask", -32001],
    ["1.0.1", "GetTask", -32001],
    ["", "GetTask", -32001],
    ["0.3", "GetTask", -32601],
    ["0.3", "tasks/get", -32001],
    ["", "tasks/get", -32001],
    ["1.0", "tasks/get", -32601],
    ["2.0", "GetTask", -32009],
    ["99.0", "tasks/get", -32009],
    ["nonsense", "GetTask", -32009],
  ])("%j with the method %s gives %i", async (version, method, code) => {
    const headers = version === "" ? {} : { "a2a-version": version };
    expect((await rpc(method, { id: "nope" }, headers)).error.code).toBe(code);
  });

  it("may come from the query, and is checked over HTTP+JSON too", async () => {
    const response = await http("GET", "/tasks/nope?A2A-Version=99.0");
    expect([response.status, response.json.error.details[0].reason]).toEqual([
      400,
      "VERSION_NOT_SUPPORTED",
    ]);
  });
});

describe("JSON-RPC of A2A 1.0", () => {
  it("accepts snake_case too, and limits the history", async () => {
    const { result } = await rpc("SendMessage", {
      message: message("text Hi.", "message_id"),
    });
    const { id } = result.task;
    expect(
      (await rpc("GetTask", { id, history_length: 1 })).result.history,
    ).toHaveLength(1);
    expect(
      (await rpc("GetTask", { id, historyLength: 0 })).result.history,
    ).toBeUndefined();
    expect((await rpc("GetTask", { id, historyLength: -1 })).error.code).toBe(
      -32602,
    );
  });

  it("answers at once when asked to, and otherwise at the end of the exchange", async () => {
    const configuration = { returnImmediately: true };
    const begun = await rpc("SendMessage", {
      message: message("wait 60000"),
      configuration,
    });
    expect(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]).toContain(
      begun.result.task.status.state,
    );
    await rpc("CancelTask", { id: begun.result.task.id });
    const ended = await rpc("SendMessage", { message: message("text Hi.") });
    expect(ended.result.task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("reports all missing fields at once, as google.rpc.BadRequest", async () => {
    const { error } = await rpc("SendMessage", { message: { parts: [{}] } });
    expect(error.code).toBe(-32602);
    const fields = error.data[1].fieldViolations.map(
      ({ field }: { field: string }) => field,
    );
    expect(fields).toEqual([
      "message.messageId",
      "message.role",
      "message.parts[0]",
    ]);
  });

  it("resumes a stream after an id without a gap (STREAM-3)", async () => {
    const frames = await stream(
      "SendStreamingMessage",
      { message: message("say 5") },
      EXT,
    );
    expect(frames.map(({ id }) => id)).toEqual(
      frames.map((_frame, index) => String(index + 1)),
    );
    expect(frames[0]?.result).toHaveProperty("task");
    const { id } = frames[0]?.result.task ?? { id: "" };
    const rest = await stream(
      "SubscribeToTask",
      { id },
      { ...EXT, "last-event-id": "3" },
    );
    expect(rest).toEqual(frames.slice(3));
  });

  it("begins the stream of a continued task with the task before the message", async () => {
    const asked = await stream(
      "SendStreamingMessage",
      { message: message("write x.txt X") },
      EXT,
    );
    const { id } = asked[0]?.result.task ?? { id: "" };
    const call = (await rpc("GetTask", { id }, EXT)).result.status.message
      .parts[0].data.tool_call_id;
    const parts = [
      { data: { tool_call_id: call, selected_option_id: "cancel" } },
    ];
    const said = {
      messageId: randomUUID(),
      role: "ROLE_USER",
      taskId: id,
      parts,
    };
    const [first, ...updates] = await stream(
      "SendStreamingMessage",
      { message: said },
      EXT,
    );
    expect(first?.result.task).toMatchObject({
      id,
      history: expect.arrayContaining([
        expect.objectContaining({ messageId: said.messageId }),
      ]),
    });
    const ids = [...asked, first, ...updates].map((frame) => Number(frame?.id));
    expect(ids).toEqual(ids.map((_id, index) => index + 1));
  });

  it("echoes the extension in the header that named it", async () => {
    for (const name of ["a2a-extensions", "x-a2a-extensions"]) {
      const response = await post(
        "/",
        { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} },
        { [name]: EXTENSION_URI },
      );
      expect(response.headers.get(name)).toBe(EXTENSION_URI);
    }
  });

  it("lists and runs slash commands (CMD-1)", async () => {
    const version = { "a2a-version": "1.0" };
    const { result } = await rpc("commands/get", {}, version);
    expect(result.commands.map(({ name }: { name: string }) => name)).toContain(
      "about",
    );
    const frames = await stream(
      "command/execute",
      { command_path: ["about"] },
      { ...version, ...EXT },
    );
    expect(frames[0]?.result).toMatchObject({ status: "STARTED" });
    expect(frames.at(-1)?.result).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } },
    });
    const once = await rpc(
      "command/execute",
      { command_path: ["nothing"] },
      version,
    );
    expect(once.result).toMatchObject({ status: "FAILED_TO_START" });
  });
});

describe("HTTP+JSON of A2A 1.0", () => {
  it("sends, gets, lists, subscribes and cancels by the routes of the proto", async () => {
    const configuration = { returnImmediately: true };
    const sent = await http("POST", "/message:send", {
      message: message("wait 60000"),
      configuration,
    });
    const { id } = sent.json.task;
    expect(
      (await http("GET", `/tasks/${id}?historyLength=0`)).json,
    ).not.toHaveProperty("history");
    expect(
      (await http("GET", "/tasks?pageSize=1&status=TASK_STATE_WORKING")).json
        .tasks[0].id,
    ).toBe(id);
    expect((await http("POST", `/tasks/${id}:cancel`)).json.status.state).toBe(
      "TASK_STATE_CANCELED",
    );
    expect(
      (await http("POST", `/tasks/${id}:cancel`)).json.error.details[0].reason,
    ).toBe("TASK_NOT_CANCELABLE");
    expect(
      (await http("POST", `/tasks/${id}:subscribe`)).json.error.details[0]
        .reason,
    ).toBe("UNSUPPORTED_OPERATION");
  });

  it.each([
    ["GET", "/tasks/nope", undefined, 404, "NOT_FOUND"],
    ["GET", "/tasks/nope:subscribe", undefined, 404, "NOT_FOUND"],
    ["GET", "/tasks?pageSize=0", undefined, 400, "INVALID_ARGUMENT"],
    [
      "GET",
      "/tasks?pageSize=1&page_size=2",
      undefined,
      400,
      "INVALID_ARGUMENT",
    ],
    ["GET", "/tasks?pageSize=101", undefined, 400, "INVALID_ARGUMENT"],
    ["GET", "/tasks?status=BUSY", undefined, 400, "INVALID_ARGUMENT"],
    ["GET", "/tasks?pageToken=x", undefined, 400, "INVALID_ARGUMENT"],
    ["GET", "/tasks?includeArtifacts=yes", undefined, 400, "INVALID_ARGUMENT"],
    ["POST", "/message:send", {}, 400, "INVALID_ARGUMENT"],
    ["POST", "/message:stream", { message: 5 }, 400, "INVALID_ARGUMENT"],
  ])(
    "%s %s with %j answers as AIP-193 says: %i %s",
    async (method, path, body, status, name) => {
      const response = await http(method, path, body);
      expect([
        response.status,
        response.json.error?.code,
        response.json.error?.status,
      ]).toEqual([status, status, name]);
    },
  );

  it("answers clients that name A2A's own media type with it, and refuses other types", async () => {
    const own = await fetch(`${server.url}/tasks`, {
      headers: { ...auth(), accept: "application/a2a+json" },
    });
    expect(own.headers.get("content-type")).toBe("application/a2a+json");
    const plain = await fetch(`${server.url}/tasks`, { headers: auth() });
    expect(plain.headers.get("content-type")).toBe("application/json");
    const body = JSON.stringify({ message: message("text Hi.") });
    const headers = { ...auth(), "content-type": "text/plain" };
    const refused = await fetch(`${server.url}/message:send`, {
      method: "POST",
      headers,
      body,
    });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("CONTENT_TYPE_NOT_SUPPORTED"),
    ]);
  });

  it("keeps the tasks of tenants apart", async () => {
    const { json } = await http("POST", "/acme/message:send", {
      message: message("text Hi."),
    });
    const { id } = json.task;
    expect((await http("GET", `/acme/tasks/${id}`)).status).toBe(200);
    expect((await http("GET", `/other/tasks/${id}`)).status).toBe(404);
    expect((await http("GET", `/tasks/${id}`)).status).toBe(404);
    expect((await http("GET", "/acme/tasks")).json.totalSize).toBe(1);
  });

  it("pages by stable cursors: new tasks do not move those on later pages", async () => {
    const tenant = `/${randomUUID()}`;
    for (const text of ["text 1", "text 2", "text 3"]) {
      await http("POST", `${tenant}/message:send`, { message: message(text) });
    }
    const first = (await http("GET", `${tenant}/tasks?pageSize=2`)).json;
    await http("POST", `${tenant}/message:send`, {
      message: message("text 4"),
    });
    const token = encodeURIComponent(first.nextPageToken);
    const second = (
      await http("GET", `${tenant}/tasks?pageSize=2&pageToken=${token}`)
    ).json;
    expect([first.totalSize, second.totalSize, second.nextPageToken]).toEqual([
      3,
      4,
      "",
    ]);
    expect(
      new Set(
        [...first.tasks, ...second.tasks].map(({ id }: { id: string }) => id),
      ).size,
    ).toBe(3);
    const since = encodeURIComponent(first.tasks[1].status.timestamp);
    const fresh = (
      await http("GET", `${tenant}/tasks?statusTimestampAfter=${since}`)
    ).json;
    expect(fresh.tasks).toHaveLength(3);
    expect(fresh.totalSize).toBe(3);
  });
});

describe("a message to a task that has ended (STREAM-5)", () => {
  const asked: ModelRequest[] = [];
  const model: Model = {
    name: "listener",
    async *generate(request) {
      asked.push(request);
      yield { case: "text", value: `answer ${asked.length}` };
    },
  };
  /** Returns the last request to the model. */
  const told = (): string[] =>
    asked
      .at(-1)
      ?.history.map(({ parts }) =>
        parts.map(({ content }) => content.value).join(""),
      ) ?? [];

  it("begins a task that refers to it, whose agent knows the earlier conversation, also after a restart", async () => {
    const dataDirectory = temporaryDirectory();
    const start = () =>
      serveCodingAgent({ workspace: process.cwd(), dataDirectory, model });
    let listening = await start();
    const send = async (text: string, more: object = {}) =>
      (
        await rpcAt(listening, "SendMessage", {
          message: { ...message(text), ...more },
        })
      ).result.task;
    const first = await send("one");
    const second = await send("two", { taskId: first.id });
    expect([second.id === first.id, second.contextId]).toEqual([
      false,
      first.contextId,
    ]);
    expect(second.history[0].referenceTaskIds).toEqual([first.id]);
    expect(told()).toEqual(["one", "answer 1", "two"]);
    await listening.close();
    listening = await start();
    await send("three", { taskId: second.id });
    expect(told()).toEqual(["one", "answer 1", "two", "answer 2", "three"]);
    await send("four", {
      contextId: first.contextId,
      referenceTaskIds: [first.id],
    });
    expect(told()).toEqual(["one", "answer 1", "four"]);
    await send("five", { contextId: first.contextId });
    expect(told()).toEqual(["five"]);
    await send("six", { referenceTaskIds: [first.id] });
    expect(told()).toEqual(["six"]);
    await listening.close();
  });
});

describe.each<
  [
    string,
    (options: { baseUrl: string; interceptors: Interceptor[] }) => Transport,
  ]
>([
  [
    "Connect",
    (options) => createConnectTransport({ ...options, httpVersion: "1.1" }),
  ],
  ["gRPC", (options) => createGrpcTransport(options)],
  [
    "gRPC-Web",
    (options) => createGrpcWebTransport({ ...options, httpVersion: "1.1" }),
  ],
])("the service of A2A 1.0 over %s", (_name, createTransport) => {
  const client = (headers: Record<string, string> = {}) =>
    createClient(
      A2AService,
      createTransport({
        baseUrl: server.url,
        interceptors: [withHeaders(headers)],
      }),
    );

  it("sends, streams and gets", async () => {
    const { payload } = await client().sendMessage({
      message: typedMessage("text Hi."),
    });
    const task: A2aTask | undefined =
      payload.case === "task" ? payload.value : undefined;
    expect(task?.status?.state).toBe(A2aTaskState.COMPLETED);
    const cases: unknown[] = [];
    for await (const item of client(EXT).sendStreamingMessage({
      message: typedMessage("think\ntext Hi."),
    })) {
      cases.push(item.payload.case);
    }
    expect(cases[0]).toBe("task");
    expect(new Set(cases.slice(1))).toEqual(new Set(["statusUpdate"]));
    expect(
      (await client().getTask({ id: task?.id ?? "" })).history.length,
    ).toBeGreaterThan(0);
    expect((await client().listTasks({ pageSize: 1 })).tasks).toHaveLength(1);
  });

  it("reports errors with the details of google.rpc", async () => {
    const missing = await client()
      .getTask({ id: "nope" })
      .catch((reason: unknown) => reason);
    expect(missing).toMatchObject({ code: 5 });
    expect(detailsOf(missing, ErrorInfoSchema)).toMatchObject([
      { reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
    ]);
    const invalid = await client()
      .sendMessage({ message: {} })
      .catch((reason: unknown) => reason);
    expect(detailsOf(invalid, BadRequestSchema)[0]).toMatchObject({
      fieldViolations: [
        { field: "message.messageId" },
        { field: "message.role" },
        { field: "message.parts" },
      ],
    });
    const version = await client({ "a2a-version": "99.0" })
      .getTask({ id: "x" })
      .catch((reason: unknown) => reason);
    expect(detailsOf(version, ErrorInfoSchema)).toMatchObject([
      { reason: "VERSION_NOT_SUPPORTED" },
    ]);
  });
});

function detailsOf(
  reason: unknown,
  schema: typeof ErrorInfoSchema | typeof BadRequestSchema,
): unknown[] {
  return reason instanceof ConnectError
    ? reason.findDetails<typeof schema>(schema)
    : [];
}

function withHeaders(headers: Record<string, string>): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries({ ...auth(), ...headers })) {
      request.header.set(name, value);
    }
    return next(request);
  };
}

function typedMessage(text: string) {
  return {
    messageId: randomUUID(),
    role: A2aRole.USER,
    parts: [{ content: { case: "text" as const, value: text } }],
  };
}

function message(text: string, idName = "messageId") {
  return { [idName]: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
}

function auth() {
  return { authorization: `Bearer ${server.token}` };
}

function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) {
  const all = { ...auth(), "content-type": "application/json", ...headers };
  return fetch(`${server.url}${path}`, {
    method: "POST",
    headers: all,
    body: JSON.stringify(body),
  });
}

/** Calls a method of a server other than that of most tests. */
async function rpcAt(
  { url, token }: DevtoolServer,
  method: string,
  params: unknown,
) {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "a2a-version": "1.0",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return json(await fetch(url, { method: "POST", headers, body }));
}

async function rpc(
  method: string,
  params: unknown,
  headers: Record<string, string> = {},
) {
  return json(
    await post("/", { jsonrpc: "2.0", id: 1, method, params }, headers),
  );
}

/** Returns the id and the result of each frame of a stream. */
async function stream(
  method: string,
  params: unknown,
  headers: Record<string, string>,
) {
  const accept = { accept: "text/event-stream", ...headers };
  const text = await (
    await post("/", { jsonrpc: "2.0", id: 1, method, params }, accept)
  ).text();
  return text
    .split("\n\n")
    .filter((frame) => frame.includes("data: "))
    .map((frame) => ({
      id: /^id: (\d+)$/m.exec(frame)?.[1],
      result: JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? "").result,
    }));
}

async function http(method: string, path: string, body?: unknown) {
  const headers = {
    ...auth(),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: await json(response) };
}

async function json(response: Response) {
  return JSON.parse(await response.text());
}
