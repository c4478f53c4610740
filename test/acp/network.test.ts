import { existsSync } from "node:fs";
import { createServer as createHttpServer, type Server } from "node:http";
import { join } from "node:path";
import {
  client as acpClient,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createNodeHttpHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { exactFetch, streamPipe } from "@devtool/acp";
import { serveAcp } from "@devtool/acp/port";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { AcpWorld } from "./agent/world.ts";
import { choose } from "./port/editor.ts";

/**
 * The port as an ACP agent, which the SDK's Streamable HTTP server offers to
 * clients elsewhere.
 */
describe("ACP over Streamable HTTP", () => {
  let workspace: string;
  let server: DevtoolServer;
  let acp: AcpServer;
  let http: Server;
  let url: string;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
    const client = clientOf(server);
    const agent = {
      name: "test",
      version: "1",
      inputModes: ["text/plain"],
      hasExtension: true,
    };
    acp = new AcpServer({
      agent: {
        connect(stream) {
          const connect = async () => ({ client, workspace, agent });
          return {
            closed: serveAcp({ stream, connect }, new AbortController().signal),
          };
        },
      },
    });
    http = createHttpServer(createNodeHttpHandler(acp));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const address = http.address();
    url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/acp`;
  });
  afterAll(async () => {
    await acp.close();
    http.closeAllConnections();
    http.close();
    await server.close();
  });

  it("asks an editor that reaches the port over the network, and runs what it allows", async () => {
    const asked: RequestPermissionRequest[] = [];
    const updates: SessionUpdate[] = [];
    const connection = acpClient({ name: "editor" })
      .onNotification(
        "session/update",
        ({ params }) => void updates.push(params.update),
      )
      .onRequest("session/request_permission", ({ params }) => {
        asked.push(params);
        return choose("allow_once")(params);
      })
      .connect(createHttpStream(url));
    const { agent } = connection;
    await agent.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: {},
    });
    const { sessionId } = await agent.request("session/new", {
      cwd: workspace,
      mcpServers: [],
    });
    const prompt = [
      { type: "text" as const, text: "write far.txt far\ntext Done." },
    ];
    expect(
      await agent.request("session/prompt", { sessionId, prompt }),
    ).toMatchObject({ stopReason: "end_turn" });
    expect(asked).toHaveLength(1);
    expect(fileText(workspace, "far.txt")).toBe("far");
    expect(updates).toContainEqual(
      expect.objectContaining({ content: { type: "text", text: "Done." } }),
    );
    connection.close();
  });

  it("serves an agent that is reached over the network: asks, runs once, does not run what is declined", async () => {
    await using world = await new AcpWorld({
      command: async () => streamPipe(createHttpStream(url)),
    }).start();
    const asking = await world.say("write allowed.txt yes\ntext Done.");
    expect(TaskState[asking.task.state]).toBe("INPUT_REQUIRED");
    const ended = await world.answer(asking.task, "proceed_once");
    expect([TaskState[ended.task.state], ended.text]).toEqual([
      "COMPLETED",
      "Done.",
    ]);
    expect(fileText(workspace, "allowed.txt")).toBe("yes");
    const again = await world.say(
      "write declined.txt no\ntext Not written.",
      ended.task,
    );
    await world.answer(again.task, "cancel");
    expect(existsSync(join(workspace, "declined.txt"))).toBe(false);
  });

  it("says how the connection to the agent ended", async () => {
    await using world = await new AcpWorld({
      command: async () =>
        streamPipe(createHttpStream("http://127.0.0.1:9/acp")),
    }).start();
    const { task } = await world.say("text Hello.");
    expect(TaskState[task.state]).toBe("FAILED");
    expect(task.error).toMatch(/its connection failed: /);
  });

  it("gives up an agent that does not answer, and is not held when the server ends", async () => {
    const silent = createHttpServer(() => undefined);
    await new Promise<void>((resolve) =>
      silent.listen(0, "127.0.0.1", resolve),
    );
    const address = silent.address();
    const nowhere = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/acp`;
    const command = async () => streamPipe(createHttpStream(nowhere));
    const world = await new AcpWorld({
      command,
      limits: { startTimeoutMs: 300 },
    }).start();
    const { task } = await world.say("text Hello.");
    expect(TaskState[task.state]).toBe("FAILED");
    await world[Symbol.asyncDispose]();
    silent.closeAllConnections();
    silent.close();
  });

  it.each([
    [exactFetch, '{"jsonrpc":"2.0","id":9007199254740993,"result":{}}'],
    [fetch, '"id":null'],
  ])(
    "I37: answers an agent's request with its id, or refuses it",
    async (fetch, wanted) => {
      const posted = Promise.withResolvers<string>();
      const asked = `{"jsonrpc":"2.0","id":9007199254740993,"method":"ask","params":{"rawInput":{"n":9007199254740995}}}`;
      const agent = createHttpServer((request, response) => {
        let body = "";
        request.on("data", (chunk: Buffer) => (body += chunk));
        request.on("end", () => {
          if (request.method === "GET") {
            response.writeHead(200, { "content-type": "text/event-stream" });
            response.write(`data: ${asked}\n\n`);
            return;
          }
          const isFirst = body.includes('"initialize"');
          if (!isFirst) posted.resolve(body);
          response.writeHead(isFirst ? 200 : 202, {
            "content-type": "application/json",
            "acp-connection-id": "c",
          });
          response.end(isFirst ? '{"jsonrpc":"2.0","id":1,"result":{}}' : "");
        });
      });
      await new Promise<void>((done) => agent.listen(0, "127.0.0.1", done));
      const address = agent.address();
      const place = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/acp`;
      const pipe = streamPipe(createHttpStream(place, { fetch }));
      pipe.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}');
      const lines: string[] = [];
      const reading = (async () => {
        for await (const line of pipe.output) {
          lines.push(Buffer.from(line).toString());
          if (lines.length !== 2) continue;
          pipe.write('{"jsonrpc":"2.0","id":9007199254740993,"result":{}}');
        }
      })();
      expect(await posted.promise).toContain(wanted);
      await pipe[Symbol.asyncDispose]();
      await reading;
      // A request that is refused is not seen.
      const asks = lines.slice(1).map((line) => JSON.parse(line).params);
      const exact = [{ rawInput: { n: "9007199254740995" } }];
      expect(asks).toEqual(fetch === exactFetch ? exact : []);
      agent.closeAllConnections();
      agent.close();
    },
  );

  it("I37: refuses a client's request whose id was rounded", async () => {
    const headers = { "content-type": "application/json" };
    const first = await fetch(url, {
      method: "POST",
      headers,
      body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}',
    });
    const connection = {
      "acp-connection-id": first.headers.get("acp-connection-id") ?? "",
    };
    const events = await fetch(url, {
      headers: { ...connection, accept: "text/event-stream" },
    });
    const body = `{"jsonrpc":"2.0","id":9007199254740993,"method":"session/list","params":{}}`;
    await fetch(url, {
      method: "POST",
      headers: { ...headers, ...connection },
      body,
    });
    let said = "";
    for await (const chunk of events.body ?? []) {
      said += Buffer.from(chunk).toString();
      if (said.includes("2^53")) break;
    }
    expect(said).toContain('"id":null');
    expect(said).not.toContain("9007199254740992");
  });
});
