import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { join } from "node:path";
import { Code, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  streamMessage,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import {
  createA2aTransport,
  createAgentTransport,
  fetchAgentCard,
} from "@devtool/client/a2a";
import { createGeminiCliTransport } from "@devtool/client/gemini-cli";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { isInterrupted, type TaskEvent } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../free-port.ts";

type Connect = (
  url: string,
  token: Parameters<typeof bearerInterceptor>[0],
) => Transport | Promise<Transport>;

const grpc = (baseUrl: string): Transport => createGrpcTransport({ baseUrl });

const TRANSPORTS: Readonly<Record<string, Connect>> = {
  "Connect over HTTP/1.1": (baseUrl, token) =>
    createConnectTransport({
      baseUrl,
      httpVersion: "1.1",
      interceptors: [bearerInterceptor(token)],
    }),
  gRPC: (baseUrl, token) =>
    createGrpcTransport({ baseUrl, interceptors: [bearerInterceptor(token)] }),
  "gRPC-Web": (baseUrl, token) =>
    createGrpcWebTransport({
      baseUrl,
      httpVersion: "1.1",
      interceptors: [bearerInterceptor(token)],
    }),
  "A2A 0.3 over JSON-RPC": (url, token) => createA2aTransport({ url, token }),
  "A2A 0.3 over HTTP+JSON": (url, token) =>
    createA2aTransport({ url, token, protocolBinding: "HTTP+JSON" }),
  "A2A 1.0 over JSON-RPC": (url, token) =>
    createA2aTransport({ url, token, protocolVersion: "1.0" }),
  "A2A 1.0 over HTTP+JSON": (url, token) =>
    createA2aTransport({
      url,
      token,
      protocolVersion: "1.0",
      protocolBinding: "HTTP+JSON",
    }),
  "A2A 1.0 over gRPC": (url, token) =>
    createA2aTransport({
      url,
      token,
      protocolVersion: "1.0",
      protocolBinding: "GRPC",
      grpc,
    }),
  "the best of its card": async (url, token) =>
    createAgentTransport(
      await fetchAgentCard({ url }, AbortSignal.timeout(60_000)),
      { url, token, grpc },
    ),
};

describe("a client whose token is a function", () => {
  let base: string;
  let server: DevtoolServer;
  const signal = AbortSignal.timeout(120_000);

  beforeEach(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    server = await start("first", await freePort());
  });
  afterEach(() => server.close());

  it.each(Object.entries(TRANSPORTS))(
    "goes on over %s at a server that restarted with another token, at a call and at a stream",
    async (_name, connect) => {
      const asked: (string | undefined)[] = [];
      let known = server.token;
      const client = createDevtoolClient(
        await connect(server.url, (refused) => {
          asked.push(refused);
          if (refused !== undefined) known = server.token;
          return known;
        }),
      );
      const first = await collect(
        streamMessage(
          client,
          { message: textMessage("one", "say 3\nwrite made.txt made") },
          signal,
        ),
      );
      const taskId = first[0]?.taskId ?? "";
      expect(asked.every((refused) => refused === undefined)).toBe(true);

      // The stream is open when the server goes, and is taken up again with the
      // other token.
      const events: TaskEvent[] = [];
      const reading = (async () => {
        for await (const event of subscribeTask(client, { taskId }, signal, {
          baseDelayMs: 20,
        })) {
          events.push(event);
        }
      })();
      while (!events.some(({ state }) => isInterrupted(state))) {
        await new Promise(setImmediate);
      }
      const stale = server.token;
      asked.length = 0;
      await restart("second");
      // Over HTTP/2 a call shares the connection that the stream tried to open
      // while nobody listened.
      const found = (): Promise<string | undefined> =>
        client.tasks.getTask({ taskId }).then(({ task }) => task?.id);
      await expect.poll(() => found().catch(() => undefined)).toBe(taskId);
      expect(asked).toContain(stale);
      await client.tasks.cancelTask({ taskId });
      await reading;
      expect(events.map(({ sequence }) => sequence)).toEqual(
        events.map((_event, index) => BigInt(index + 1)),
      );
    },
  );

  it("goes on with slash commands and with the dialect of Gemini CLI", async () => {
    const token = () => server.token;
    const client = createDevtoolClient(
      createGeminiCliTransport({ url: server.url, token }),
    );
    const { commands } = await client.commands.getAllSlashCommands({});
    await restart("second");
    expect((await client.commands.getAllSlashCommands({})).commands).toEqual(
      commands,
    );
  });

  it.each(Object.entries(TRANSPORTS))(
    "asks once more over %s and then says that it is refused, without a second try of the same token",
    async (_name, connect) => {
      const asked: (string | undefined)[] = [];
      const wrong = (refused?: string): string => {
        asked.push(refused);
        return "wrong";
      };
      const client = createDevtoolClient(await connect(server.url, wrong));
      await expect(client.tasks.getTask({ taskId: "t" })).rejects.toMatchObject(
        { code: Code.Unauthenticated },
      );
      expect(asked).toEqual([undefined, "wrong"]);
      asked.length = 0;
      const stream = collect(
        streamMessage(
          client,
          { message: textMessage("m", "text hello") },
          signal,
        ),
      );
      await expect(stream).rejects.toMatchObject({
        code: Code.Unauthenticated,
      });
      expect(asked).toEqual([undefined, "wrong"]);
    },
  );

  it("sends no header for an empty token", async () => {
    const seen: unknown[] = [];
    const agent = createHttpServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(404).end();
    }).listen(0, "127.0.0.1");
    await once(agent, "listening");
    const address = agent.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const call = async (transport: Transport) =>
      createDevtoolClient(transport)
        .tasks.getTask({ taskId: "t" })
        .catch(() => undefined);
    await call(
      createConnectTransport({
        baseUrl: url,
        httpVersion: "1.1",
        interceptors: [bearerInterceptor(() => "")],
      }),
    );
    await call(createA2aTransport({ url, token: () => "" }));
    expect(seen).toEqual([undefined, undefined]);
    agent.close().closeAllConnections();
  });

  it("takes up a gRPC stream that is refused with its last frame, before any message", async () => {
    const tokens: unknown[] = [];
    const agent = createHttp2Server().listen(0, "127.0.0.1");
    agent.on("stream", (stream, headers) => {
      tokens.push(headers.authorization);
      stream.on("wantTrailers", () =>
        stream.sendTrailers({
          "grpc-status": tokens.length === 1 ? "16" : "0",
        }),
      );
      stream.respond(
        { ":status": 200, "content-type": "application/grpc+proto" },
        { waitForTrailers: true },
      );
      stream.end();
    });
    await once(agent, "listening");
    const address = agent.address();
    const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const token = (refused?: string): string =>
      refused === undefined ? "old" : "new";
    const client = createDevtoolClient(
      createGrpcTransport({
        baseUrl,
        interceptors: [bearerInterceptor(token)],
      }),
    );
    expect(
      await Array.fromAsync(client.tasks.subscribeTask({ taskId: "t" })),
    ).toEqual([]);
    expect(tokens).toEqual(["Bearer old", "Bearer new"]);
    agent.close();
  });

  function start(token: string, port: number): Promise<DevtoolServer> {
    const [workspace, dataDirectory] = [join(base, "work"), join(base, "data")];
    return serveCodingAgent({
      workspace,
      dataDirectory,
      token,
      port,
      sandbox: "none",
      drainMs: 100,
    });
  }

  /**
   * Ends the server, and starts it again at the same address with another
   * token.
   */
  async function restart(token: string): Promise<void> {
    const port = Number(new URL(server.url).port);
    await server.close();
    server = await start(token, port);
  }
});

async function collect(events: AsyncIterable<TaskEvent>): Promise<TaskEvent[]> {
  return Array.fromAsync(events);
}
