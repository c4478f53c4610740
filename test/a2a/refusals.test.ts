import { once } from "node:events";
import { connect } from "node:http2";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { TaskService } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const RPC = "/devtool.v1alpha.TaskService";

describe("a request without credentials", () => {
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await serveCodingAgent();
  });
  afterAll(() => server.close());

  const words = expect.stringContaining("the bearer token is missing or wrong");

  it.each([
    {
      what: "JSON-RPC",
      path: "/",
      method: "POST",
      body: {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32600, message: words },
      },
    },
    {
      what: "HTTP+JSON of A2A 0.3",
      path: "/v1/tasks/x",
      method: "GET",
      body: { code: -32600, message: words },
    },
    {
      what: "HTTP+JSON of A2A 1.0 (section 11.6)",
      path: "/tasks/x",
      method: "GET",
      body: {
        error: {
          code: 401,
          status: "UNAUTHENTICATED",
          message: words,
          details: [],
        },
      },
    },
    {
      what: "Connect",
      path: `${RPC}/GetTask`,
      method: "POST",
      body: { code: "unauthenticated", message: words },
    },
    {
      what: "Gemini CLI's own server",
      path: "/listCommands",
      method: "GET",
      body: { error: words },
    },
  ])(
    "is refused with HTTP 401 and an error of $what (ERR-1)",
    async ({ path, method, body }) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers,
        ...(method === "POST" && { body: "{}" }),
      });
      expect([
        response.status,
        response.headers.get("www-authenticate"),
      ]).toEqual([401, "Bearer"]);
      expect(await response.json()).toMatchObject(body);
    },
  );

  it.each([
    { type: "application/grpc", host: undefined, code: Code.Unauthenticated },
    {
      type: "application/grpc+proto",
      host: "evil.example",
      code: Code.PermissionDenied,
    },
    {
      type: "application/grpc-web+proto",
      host: undefined,
      code: Code.Unauthenticated,
    },
  ])(
    "is refused over $type with HTTP 200 and the status $code (ERR-1)",
    async ({ type, host, code }) => {
      const session = connect(server.url);
      const headers = {
        ":method": "POST",
        ":path": `${RPC}/GetTask`,
        "content-type": type,
        te: "trailers",
      };
      const stream = session.request(
        { ...headers, ...(host !== undefined && { ":authority": host }) },
        { endStream: true },
      );
      const [response, flags] = await once(stream, "response");
      stream.resume();
      await once(stream, "close");
      session.close();
      expect(response).toMatchObject({
        ":status": 200,
        "grpc-status": String(code),
        "content-type": type,
      });
      const endsHere = (Number(flags) & 1) === 1;
      expect(endsHere).toBe(true);
      // grpc-js shows needlessly encoded characters, such as a colon, as they
      // are.
      expect(response["grpc-message"]).not.toContain("%3A");
    },
  );

  it.each([
    {
      name: "Connect",
      of: (baseUrl: string) =>
        createConnectTransport({ baseUrl, httpVersion: "1.1" }),
    },
    { name: "gRPC", of: (baseUrl: string) => createGrpcTransport({ baseUrl }) },
    {
      name: "gRPC-Web",
      of: (baseUrl: string) =>
        createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
    },
    {
      name: "A2A 0.3",
      of: (url: string) => createA2aTransport({ url, protocolVersion: "0.3" }),
    },
    {
      name: "A2A 0.3 over HTTP+JSON",
      of: (url: string) =>
        createA2aTransport({
          url,
          protocolVersion: "0.3",
          protocolBinding: "HTTP+JSON",
        }),
    },
    {
      name: "A2A 1.0",
      of: (url: string) => createA2aTransport({ url, protocolVersion: "1.0" }),
    },
    {
      name: "A2A 1.0 over HTTP+JSON",
      of: (url: string) =>
        createA2aTransport({
          url,
          protocolVersion: "1.0",
          protocolBinding: "HTTP+JSON",
        }),
    },
  ])(
    "is Unauthenticated for a client of $name, with the server's message",
    async ({ of }) => {
      const client = createClient(TaskService, of(server.url));
      const get = await client
        .getTask({ taskId: "t" })
        .catch(ConnectError.from);
      expect(get).toMatchObject({
        code: Code.Unauthenticated,
        rawMessage: words,
      });
      const iterator = client
        .subscribeTask({ taskId: "t" })
        [Symbol.asyncIterator]();
      const subscribed = await iterator.next().catch(ConnectError.from);
      expect(subscribed).toMatchObject({
        code: Code.Unauthenticated,
        rawMessage: words,
      });
    },
  );
});
