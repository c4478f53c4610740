import { randomUUID } from "node:crypto";
import {
  create,
  fromJson,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { createDevtoolClient } from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  EXTENSION_URI,
  SESSION_SETTINGS_URI,
  SendMessageRequestSchema,
  TaskState,
} from "@devtool/schema";
import {
  A2AService,
  A2aSendMessageRequestSchema,
  A2aTaskSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/**
 * Metadata of other parties: of another extension, of a tracer, and an unknown
 * key.
 */
const FOREIGN = {
  "https://example.com/ext/v1": { level: 3, tags: ["a", null] },
  traceparent: "00-ab-cd-01",
  empty: {},
};
const EXTENSIONS = ["https://example.com/ext/v1"];

/**
 * Parts other than text that a client of 1.0 may send. They come back
 * unchanged.
 */
const PARTS_V1: JsonObject[] = [
  {
    text: "text hello",
    mediaType: "text/markdown",
    filename: "ask.md",
    metadata: { lang: "en" },
  },
  { data: "text", mediaType: "application/json" },
  { data: [1, 2] },
  { data: 5, metadata: { unit: "mm" } },
  { data: null },
  { data: false },
  {
    data: { value: 5, other: "x" },
    filename: "data.json",
    metadata: { "urn:x": { deep: [{}] } },
  },
  {
    raw: "aGk=",
    filename: "a.bin",
    mediaType: "application/x-a",
    metadata: { page: 1 },
  },
  {
    url: "https://example.com/a.png",
    mediaType: "image/png",
    metadata: { page: 2 },
  },
];

/**
 * The same in 0.3, where data is an object, and a media type stands beside a
 * file alone.
 */
const PARTS_V03: JsonObject[] = [
  { kind: "text", text: "text hello", metadata: { lang: "en" } },
  {
    kind: "data",
    data: { value: "text" },
    metadata: { data_part_compat: true },
  },
  {
    kind: "data",
    data: { value: [1, 2], other: 1 },
    metadata: { data_part_compat: true },
  },
  {
    kind: "data",
    data: { value: null },
    metadata: { data_part_compat: true, unit: "mm" },
  },
  { kind: "data", data: { a: 1 }, metadata: { "urn:x": { deep: [{}] } } },
  {
    kind: "file",
    file: { bytes: "aGk=", name: "a.bin", mimeType: "application/x-a" },
    metadata: { page: 1 },
  },
  {
    kind: "file",
    file: { uri: "https://example.com/a.png", mimeType: "image/png" },
    metadata: { page: 2 },
  },
];

let server: DevtoolServer;
let workspace: string;

beforeAll(async () => {
  workspace = temporaryDirectory();
  server = await serveCodingAgent({ workspace });
});
afterAll(() => server.close());

describe.each(["extension", "plain"] as const)(
  "what a client sent comes back, with the view %s",
  (view) => {
    it.each(["JSONRPC", "HTTP+JSON", "GRPC"])(
      "in A2A 1.0 over %s: answer, task and stream",
      async (binding) => {
        const said = {
          messageId: randomUUID(),
          role: "ROLE_USER",
          parts: PARTS_V1,
          extensions: EXTENSIONS,
        };
        const message = { ...said, metadata: FOREIGN };
        const call = callV1(binding, view);
        const { task } = await call("SendMessage", { message });
        expect(await historyOf(call, task)).toMatchObject([
          { ...message, metadata: expect.objectContaining(FOREIGN) },
        ]);
        const [first] = await call("SendStreamingMessage", {
          message: { ...message, messageId: randomUUID() },
        });
        expect(first.task.history[0]).toMatchObject({
          parts: PARTS_V1,
          extensions: EXTENSIONS,
          metadata: FOREIGN,
        });
      },
    );

    it("in A2A 0.3 over JSON-RPC: answer, task and stream", async () => {
      const message = { ...messageV03(), metadata: FOREIGN };
      const { result: task } = await rpcV03(view, "message/send", { message });
      const { result: read } = await rpcV03(view, "tasks/get", { id: task.id });
      for (const { history } of [task, read]) {
        expect(history[0]).toMatchObject({
          ...message,
          metadata: expect.objectContaining(FOREIGN),
        });
        expect(history[0].parts).toEqual(PARTS_V03);
      }
      const stream = await rpcV03(view, "message/stream", {
        message: { ...message, messageId: randomUUID() },
      });
      expect(stream[0].result.history[0]).toMatchObject({
        parts: PARTS_V03,
        extensions: EXTENSIONS,
        metadata: FOREIGN,
      });
    });
  },
);

describe("what was said in one version of A2A", () => {
  it("is read in the other: 0.3 wraps data that is not an object, and has a place for the names of text and data", async () => {
    const said = {
      messageId: randomUUID(),
      role: "ROLE_USER",
      parts: PARTS_V1,
    };
    const { task } = await callV1("JSONRPC", "plain")("SendMessage", {
      message: said,
    });
    const { result } = await rpcV03("plain", "tasks/get", { id: task.id });
    expect(result.history[0].parts.slice(0, 3)).toEqual([
      {
        kind: "text",
        text: "text hello",
        metadata: {
          lang: "en",
          [PART]: { mediaType: "text/markdown", fileName: "ask.md" },
        },
      },
      {
        kind: "data",
        data: { value: "text" },
        metadata: {
          data_part_compat: true,
          [PART]: { mediaType: "application/json" },
        },
      },
      {
        kind: "data",
        data: { value: [1, 2] },
        metadata: { data_part_compat: true },
      },
    ]);
    const message = { ...messageV03(), parts: result.history[0].parts };
    const { result: again } = await rpcV03("plain", "message/send", {
      message,
    });
    expect(
      (await callV1("JSONRPC", "plain")("GetTask", { id: again.id })).history[0]
        .parts,
    ).toEqual(PARTS_V1);
  });

  it("is what our own client reads, over every wire", async () => {
    const message = {
      messageId: randomUUID(),
      role: 1,
      parts: [
        {
          content: { case: "text" as const, value: "text hi" },
          mediaType: "text/markdown",
          metadata: { lang: "en" },
        },
        {
          content: { case: "dataValue" as const, value: value([1, "a"]) },
          fileName: "list.json",
        },
      ],
      extensions: EXTENSIONS,
      metadata: FOREIGN,
    };
    for (const [protocolVersion, protocolBinding] of OUR_WIRES) {
      const url = protocolBinding === "JSONRPC" ? `${server.url}/` : server.url;
      const transport = createA2aTransport({
        url,
        protocolVersion,
        protocolBinding,
        token: server.token,
      });
      const { tasks } = createDevtoolClient(transport);
      const request = create(SendMessageRequestSchema, {
        message: { ...message, messageId: randomUUID() },
      });
      const { task } = await tasks.sendMessage(request);
      expect(task?.state).toBe(TaskState.COMPLETED);
      expect(task?.history[0]).toMatchObject({
        parts: message.parts,
        extensions: EXTENSIONS,
        metadata: FOREIGN,
      });
    }
  });

  it("may be sent again with another trace beside it, which starts nothing twice (STREAM-7)", async () => {
    const message = messageV03();
    const first = await rpcV03("plain", "message/send", {
      message: { ...message, metadata: { trace: 1 } },
    });
    const again = await rpcV03("plain", "message/send", {
      message: { ...message, metadata: { trace: 2 } },
    });
    expect(again.result.id).toBe(first.result.id);
  });

  it("is refused in 0.3 when data is not an object, in words that say what to do", async () => {
    for (const data of ["text", [1, 2], 5, null]) {
      const message = { ...messageV03(), parts: [{ kind: "data", data }] };
      const { error } = await rpcV03("plain", "message/send", { message });
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("must be an object in A2A 0.3"),
      });
    }
  });
});

describe("the first frame of a stream in A2A 0.3", () => {
  it("has no empty settings in its metadata, which the Java SDK for 0.3 cannot read", async () => {
    for (const settings of [undefined, {}]) {
      const metadata = settings && { [SESSION_SETTINGS_URI]: settings };
      const message = { ...messageV03(), messageId: randomUUID(), metadata };
      const [opened] = await rpcV03("extension", "message/stream", { message });
      expect(opened.result).toMatchObject({
        kind: "task",
        status: { state: "submitted" },
      });
      expect(Object.values(opened.result.metadata ?? {})).not.toContainEqual(
        {},
      );
    }
  });
});

const PART = "https://devtool.dev/a2a/part/v1alpha";

const OUR_WIRES = [
  ["0.3", "JSONRPC"],
  ["0.3", "HTTP+JSON"],
  ["1.0", "JSONRPC"],
  ["1.0", "HTTP+JSON"],
] as const;

type View = "extension" | "plain";

function messageV03() {
  return {
    kind: "message",
    messageId: randomUUID(),
    role: "user",
    parts: PARTS_V03,
    extensions: EXTENSIONS,
  };
}

/** Calls a method of 0.3; the frames of a stream come as a list. */
async function rpcV03(view: View, method: string, params: unknown) {
  const extension =
    view === "extension" ? { "x-a2a-extensions": EXTENSION_URI } : {};
  return answerOf(
    await post("", { jsonrpc: "2.0", id: 1, method, params }, extension),
  );
}

/**
 * Calls the methods of 1.0 that are used here, by the names that the service
 * has for them.
 */
function callV1(binding: string, view: View): Call {
  const headers = {
    "a2a-version": "1.0",
    ...(view === "extension" && { "a2a-extensions": EXTENSION_URI }),
  };
  if (binding === "GRPC") {
    return grpcCall({ ...headers, authorization: `Bearer ${server.token}` });
  }
  if (binding === "HTTP+JSON") return restCall(headers);
  return async (method, params) => {
    const answer = await answerOf(
      await post("", { jsonrpc: "2.0", id: 1, method, params }, headers),
    );
    return Array.isArray(answer)
      ? answer.map(({ result }) => result)
      : answer.result;
  };
}

/** Gives the JSON of the answer, which is what these tests are about. */
type Call = (
  method: string,
  params: JsonObject,
) => Promise<ReturnType<typeof JSON.parse>>;

function restCall(headers: Readonly<Record<string, string>>): Call {
  return async (method, params) => {
    if (method === "GetTask") {
      return answerOf(
        await fetch(`${server.url}/tasks/${params.id}`, {
          headers: auth(headers),
        }),
      );
    }
    return answerOf(
      await post(
        method === "SendMessage" ? "message:send" : "message:stream",
        params,
        headers,
      ),
    );
  };
}

function grpcCall(headers: Readonly<Record<string, string>>): Call {
  const client = createClient(
    A2AService,
    createGrpcTransport({ baseUrl: server.url }),
  );
  return async (method, params) => {
    if (method === "GetTask") {
      return toJson(
        A2aTaskSchema,
        await client.getTask({ id: String(params.id) }, { headers }),
      );
    }
    const request = fromJson(A2aSendMessageRequestSchema, params);
    if (method === "SendMessage") {
      return toJson(
        SendMessageResponseSchema,
        await client.sendMessage(request, { headers }),
      );
    }
    const responses = await Array.fromAsync(
      client.sendStreamingMessage(request, { headers }),
    );
    return responses.map((response) => toJson(StreamResponseSchema, response));
  };
}

/**
 * The user's messages of a task, of the answer and as it is read again: both
 * must be the same.
 */
async function historyOf(
  call: Call,
  task: { readonly id: string; readonly history: JsonObject[] },
): Promise<JsonObject[]> {
  const read = await call("GetTask", { id: task.id });
  const [answered, again] = [task.history, read.history].map(
    (history: JsonObject[]) =>
      history.filter(({ role }) => role === "ROLE_USER"),
  );
  expect(again).toEqual(answered);
  return again ?? [];
}

function post(
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const all = auth({ "content-type": "application/json", ...headers });
  return fetch(`${server.url}/${path}`, {
    method: "POST",
    headers: all,
    body: JSON.stringify(body),
  });
}

function auth(
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  return { authorization: `Bearer ${server.token}`, ...headers };
}

async function answerOf(response: Response) {
  const text = await response.text();
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    return JSON.parse(text);
  }
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) =>
    JSON.parse(data),
  );
}

function value(json: JsonValue) {
  return fromJson(ValueSchema, json);
}
