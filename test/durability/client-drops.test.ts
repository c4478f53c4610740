import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AgentEvent, AgentExecutor } from "@devtool/server";
import { createServer, type DevtoolServer } from "@devtool/server";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  vi,
} from "vitest";

/**
 * More than the sockets between a server and its client hold, so that a client
 * that does not read keeps a write waiting.
 */
const PIECES = 32;
const PIECE = "x".repeat(512 * 1024);

const STREAM = "/devtool.v1alpha.TaskService/StreamMessage";
const STREAM_1 = "/lf.a2a.v1.A2AService/SendStreamingMessage";
const JSON_TYPE = "application/json";

/** A client with a response that it does not read. */
interface Client {
  readonly response: Readable;
  /** Drops the connection. */
  destroy(): void;
}

/** How a stream is asked for. */
interface Dialect {
  readonly name: string;
  readonly send: (
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer,
  ) => Promise<Client>;
  readonly path: string;
  readonly type: string;
  /** Encodes the request of A2A 1.0 for a message. */
  readonly body: (request: { readonly message: Message }) => Buffer;
}

/** A message as A2A 1.0 has it in JSON. */
interface Message {
  readonly messageId: string;
  readonly role: string;
  readonly parts: readonly { readonly text: string }[];
}

describe("a client that drops its connection", () => {
  let server: DevtoolServer;
  let ended: PromiseWithResolvers<void>;
  const errors: unknown[] = [];
  const onError = (reason: unknown): number => errors.push(reason);
  const printed = vi
    .spyOn(console, "error")
    .mockImplementation(() => undefined);

  beforeAll(async () => {
    const createExecutor = (): AgentExecutor => ({
      modelFor: () => "",
      execute: async function* (): AsyncIterable<AgentEvent> {
        for (let piece = 0; piece < PIECES; piece++) {
          yield { case: "text", value: PIECE };
        }
        ended.resolve();
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
    const about = { name: "Talker", description: "Says much." };
    server = await createServer({
      workspace: process.cwd(),
      agents: { talker: { about, open: () => ({ createExecutor }) } },
      onError,
      // That its store grows.
      onNotice: () => undefined,
    });
  });
  beforeEach(() => {
    ended = Promise.withResolvers();
    errors.length = 0;
    printed.mockClear();
  });
  afterAll(async () => {
    printed.mockRestore();
    await server.close();
  });

  it.each<Dialect>([
    {
      name: "Connect",
      send: http1,
      path: STREAM,
      type: "application/connect+json",
      body: (m) => framed({ request: m }),
    },
    {
      name: "gRPC-Web",
      send: http1,
      path: STREAM,
      type: "application/grpc-web+json",
      body: (m) => framed({ request: m }),
    },
    {
      name: "gRPC",
      send: http2,
      path: STREAM,
      type: "application/grpc+json",
      body: (m) => framed({ request: m }),
    },
    {
      name: "gRPC of A2A 1.0",
      send: http2,
      path: STREAM_1,
      type: "application/grpc+json",
      body: framed,
    },
    {
      name: "HTTP+JSON of A2A 1.0",
      send: http1,
      path: "/message:stream",
      type: JSON_TYPE,
      body: text,
    },
    {
      name: "JSON-RPC of A2A 1.0",
      send: http1,
      path: "/",
      type: JSON_TYPE,
      body: (m) => called("SendStreamingMessage", m),
    },
    {
      name: "JSON-RPC of A2A 0.3",
      send: http1,
      path: "/",
      type: JSON_TYPE,
      body: called03,
    },
    {
      name: "JSON-RPC of A2A 0.3 over HTTP/2",
      send: http2,
      path: "/",
      type: JSON_TYPE,
      body: called03,
    },
  ])(
    "and does not read a stream writes no error to the log: $name",
    async ({ send, path, type, body }) => {
      const version = body === called03 ? "0.3" : "1.0";
      const message = {
        messageId: crypto.randomUUID(),
        role: "ROLE_USER",
        parts: [{ text: "Say much." }],
      };
      const client = await send(
        path,
        { "content-type": type, "a2a-version": version },
        body({ message }),
      );
      await once(client.response, "readable");
      await ended.promise;
      client.destroy();
      await settle();
      expect({ errors, printed: printed.mock.calls }).toEqual({
        errors: [],
        printed: [],
      });
    },
  );

  it.each([
    ["devtool's services", STREAM],
    ["A2A 1.0", STREAM_1],
  ])(
    "or a proxy that resets its stream with any code writes no error to the log: gRPC, %s",
    async (_service, path) => {
      const session = connect(server.url).on("error", () => undefined);
      for (let code = 0; code <= 13; code++) {
        const message = {
          messageId: crypto.randomUUID(),
          role: "ROLE_USER",
          parts: [{ text: "Say much." }],
        };
        const body = framed(
          path === STREAM ? { request: { message } } : { message },
        );
        const more = {
          "content-type": "application/grpc+json",
          te: "trailers",
          "a2a-version": "1.0",
        };
        const stream = session.request({
          ":method": "POST",
          ":path": path,
          ...headers(more),
        });
        stream.on("error", () => undefined).end(body);
        await once(stream, "readable");
        stream.close(code);
        await settle();
      }
      session.destroy();
      await settle();
      expect({ errors, printed: printed.mock.calls }).toEqual({
        errors: [],
        printed: [],
      });
    },
  );

  it.each([
    ["Connect", "/devtool.v1alpha.TaskService/SendMessage", "application/json"],
    [
      "Connect, a stream",
      "/devtool.v1alpha.TaskService/StreamMessage",
      "application/connect+json",
    ],
    ["HTTP+JSON of A2A 1.0", "/message:send", "application/json"],
    ["JSON-RPC", "/", "application/json"],
    ["Gemini CLI", "/tasks", "application/json"],
  ] as const)(
    "in the middle of its request writes no error to the log: %s",
    async (_dialect, path, type) => {
      const sent = request(`${server.url}${path}`, {
        method: "POST",
        headers: headers({
          "content-type": type,
          "content-length": "1000",
          expect: "100-continue",
        }),
      });
      sent.on("error", () => undefined).flushHeaders();
      await once(sent, "continue");
      sent.write("{");
      await settle();
      sent.destroy();
      await settle();
      expect({ errors, printed: printed.mock.calls }).toEqual({
        errors: [],
        printed: [],
      });
    },
  );

  function headers(
    more: Readonly<Record<string, string>>,
  ): Record<string, string> {
    return {
      authorization: `Bearer ${server.token}`,
      accept: "text/event-stream, application/json",
      ...more,
    };
  }

  async function http1(
    path: string,
    more: Readonly<Record<string, string>>,
    body: Buffer,
  ): Promise<Client> {
    const sent = request(`${server.url}${path}`, {
      method: "POST",
      headers: headers(more),
    });
    const response = new Promise<Readable>((resolve, reject) =>
      sent.on("response", resolve).on("error", reject),
    );
    sent.end(body);
    return { response: await response, destroy: () => void sent.destroy() };
  }

  async function http2(
    path: string,
    more: Readonly<Record<string, string>>,
    body: Buffer,
  ): Promise<Client> {
    const session = connect(server.url).on("error", () => undefined);
    const response = session.request({
      ":method": "POST",
      ":path": path,
      te: "trailers",
      ...headers(more),
    });
    response.on("error", () => undefined).end(body);
    await once(response, "response");
    return { response, destroy: () => session.destroy() };
  }

  /**
   * Waits until the server has noticed what clients did before: it answers
   * another one.
   */
  async function settle(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await (await fetch(`${server.url}/.well-known/agent-card.json`)).text();
      await nextTurn();
    }
  }
});

function text(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * A message in an envelope of Connect and gRPC: a flag, the length in four
 * bytes, and the message.
 */
function framed(value: object): Buffer {
  const message = text(value);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function called(method: string, params: object): Buffer {
  return text({ jsonrpc: "2.0", id: 1, method, params });
}

function called03({
  message: { messageId, parts },
}: {
  readonly message: Message;
}): Buffer {
  const message = {
    kind: "message",
    role: "user",
    messageId,
    parts: parts.map((part) => ({ kind: "text", ...part })),
  };
  return called("message/stream", { message });
}
