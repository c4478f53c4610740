import { once } from "node:events";
import { connect } from "node:http2";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { SendMessageRequestSchema } from "@devtool/schema";
import { A2aSendMessageRequestSchema } from "@devtool/schema/a2a-v1";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const OURS = "/devtool.v1alpha.TaskService/SendMessage";
const A2A = "/lf.a2a.v1.A2AService/SendMessage";
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const MIB = 1024 * 1024;

/**
 * A million parts. Each takes two bytes on the wire, and an object with seven
 * fields in memory.
 */
const PARTS = Array.from({ length: 1_000_000 }, () => ({}));
const BINARY = {
  [OURS]: toBinary(
    SendMessageRequestSchema,
    create(SendMessageRequestSchema, { message: { parts: PARTS } }),
  ),
  [A2A]: toBinary(
    A2aSendMessageRequestSchema,
    create(A2aSendMessageRequestSchema, { message: { parts: PARTS } }),
  ),
};
const LONG = "x".repeat(1025);
const JSON_PARTS = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[${"{},".repeat(100_000)}{}]}}`;

describe("a request that is small on the wire and large in memory (S3)", () => {
  let workspace: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace });
  });
  afterAll(() => server.close());

  for (const [path, bytes] of Object.entries(BINARY)) {
    it.each([
      ["plain", bytes, {}],
      ["with gzip", gzipSync(bytes), { "grpc-encoding": "gzip" }],
      [
        "with brotli",
        brotliCompressSync(bytes, FAST),
        { "grpc-encoding": "br", "connect-content-encoding": "identity" },
      ],
    ] as const)(
      `is refused before it is decoded: gRPC, %s, ${path}`,
      async (_name, body, headers) => {
        const frame = framed(body, "grpc-encoding" in headers ? 1 : 0);
        const answer = await grpc(path, frame, headers);
        expect(answer).toEqual({ code: "3", message: TOO_MANY_FIELDS });
      },
    );

    it(`is refused before it is decoded: Connect, ${path}`, async () => {
      const { status, text } = await post(path, Buffer.from(bytes), {
        "content-type": "application/proto",
      });
      expect([status, text]).toEqual([
        400,
        expect.stringContaining(TOO_MANY_FIELDS),
      ]);
    });

    it(`is refused before it is decoded: gRPC-Web, ${path}`, async () => {
      // Media types are not case-sensitive.
      const { text } = await post(path, framed(bytes, 0), {
        "content-type": "Application/GRPC-web+proto",
      });
      expect(decodeURIComponent(text)).toContain(TOO_MANY_FIELDS);
    });

    it(`is refused before it is decoded: Connect with JSON, ${path}`, async () => {
      const { status, text } = await post(path, JSON_PARTS, {
        "content-type": "application/json; charset=utf-8",
      });
      expect([status, text]).toEqual([
        400,
        expect.stringContaining("more than 50000 values"),
      ]);
    });
  }

  it("is refused when it is compressed: 50 MiB of zeros", async () => {
    const nothing = Buffer.alloc(50 * MIB);
    for (const [encoding, body] of [
      ["gzip", gzipSync(nothing)],
      ["br", brotliCompressSync(nothing, FAST)],
    ] as const) {
      const answer = await grpc(OURS, framed(body, 1), {
        "grpc-encoding": encoding,
      });
      expect(answer, encoding).toMatchObject({
        code: "8",
        message: expect.stringContaining("after decompression"),
      });
      const headers = {
        "content-type": "application/proto",
        "content-encoding": encoding,
      };
      expect((await post(OURS, body, headers)).status, encoding).toBe(429);
    }
  });

  it("is refused by JSON-RPC, also with an unterminated string full of escaped quotes", async () => {
    const body = `{"a":"${'\\"'.repeat(2 * MIB - 100)}`;
    const { text } = await post("/", body, {
      "content-type": "application/json",
    });
    expect(JSON.parse(text).error).toMatchObject({ code: -32700 });
  });

  it("gets an error with the first 20 missing fields, and no more", async () => {
    const parts = Array.from({ length: 40_000 }, () => ({}));
    const params = { message: { messageId: "m", role: "ROLE_USER", parts } };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params,
    });
    const { text } = await post("/", body, {
      "content-type": "application/json",
      "a2a-version": "1.0",
    });
    const { message, data } = JSON.parse(text).error;
    expect(message.match(/holds nothing/g)).toHaveLength(20);
    expect(data[1].fieldViolations).toHaveLength(20);
  });

  it.each([
    ["contextId", { contextId: LONG }],
    ["messageId", { messageId: LONG }],
    ["referenceTaskIds", { referenceTaskIds: [LONG] }],
    [
      "referenceTaskIds",
      { referenceTaskIds: Array.from({ length: 257 }, (_, at) => `t${at}`) },
    ],
    ["extensions", { extensions: [LONG] }],
    [
      "model",
      {
        metadata: {
          "https://devtool.dev/a2a/session-settings/v1alpha": { model: LONG },
        },
      },
    ],
  ])(
    "is refused in a field that each event would repeat: %s",
    async (field, given) => {
      for (const [method, text, role] of [
        ["message/send", { kind: "text", text: "say 100" }, "user"],
        ["SendMessage", { text: "say 100" }, "ROLE_USER"],
      ] as const) {
        const message = {
          messageId: crypto.randomUUID(),
          role,
          parts: [text],
          ...given,
        };
        const params = {
          message:
            method === "SendMessage"
              ? message
              : { kind: "message", ...message },
        };
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
        const version =
          method === "SendMessage" ? { "a2a-version": "1.0" } : {};
        const answer = await post("/", body, {
          "content-type": "application/json",
          ...version,
        });
        const { error } = JSON.parse(answer.text);
        expect(error, method).toMatchObject({
          code: -32602,
          message: expect.stringMatching(/too long|too many/),
        });
        expect(error.message, method).toContain(field);
        expect(answer.text.length, method).toBeLessThan(2000);
      }
    },
  );

  it("is refused in a command or a promised task, which would keep it", async () => {
    const headers = { "content-type": "application/json" };
    const params = { command_path: ["about"], args: "", context_id: LONG };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "command/execute",
      params,
    });
    expect(
      JSON.parse((await post("/", body, headers)).text).error.message,
    ).toContain("too long");
    const promise = JSON.stringify({
      agentSettings: { kind: "agent-settings" },
      contextId: LONG,
    });
    expect((await post("/tasks", promise, headers)).status).toBe(400);
  });

  it("is told apart from a request of ordinary size", async () => {
    const text = "x".repeat(3 * MIB);
    const request = create(SendMessageRequestSchema, {
      message: {
        messageId: "big",
        parts: [{ content: { case: "text", value: `text done\n${text}` } }],
      },
    });
    const answer = await grpc(
      OURS,
      framed(toBinary(SendMessageRequestSchema, request), 0),
      {},
    );
    expect(answer).toEqual({ code: "0", message: "" });
  });

  async function post(
    path: string,
    body: string | Uint8Array,
    headers: Record<string, string>,
  ) {
    const authorization = `Bearer ${server.token}`;
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { authorization, ...headers },
      body: typeof body === "string" ? body : new Uint8Array(body),
    });
    return { status: response.status, text: await response.text() };
  }

  async function grpc(
    path: string,
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
  ) {
    const session = connect(server.url);
    try {
      const stream = session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
        authorization: `Bearer ${server.token}`,
        ...headers,
      });
      stream.resume();
      stream.end(body);
      const [trailers] = await once(stream, "trailers");
      return {
        code: trailers["grpc-status"],
        message: decodeURIComponent(trailers["grpc-message"] ?? ""),
      };
    } finally {
      session.destroy();
    }
  }
});

const TOO_MANY_FIELDS =
  "the message holds more than 250000 fields: limit is 250000";

/** Returns a message in a gRPC frame. */
function framed(message: Uint8Array, flags: number): Uint8Array {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
