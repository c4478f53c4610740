import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Client, type ElicitResult } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { freePort } from "../free-port.ts";
import { connectHost } from "./host.ts";
import { TASK_HOST } from "./modern-request.ts";

const MAIN = fileURLToPath(
  new URL("../../packages/cli/dist/main.js", import.meta.url),
);

describe("devtool mcp", { timeout: 120_000 }, () => {
  let base: string;
  let work: string;
  const clients: Client[] = [];
  const servers: ServerProcess[] = [];
  beforeEach(async () => {
    base = temporaryDirectory();
    work = join(base, "work");
    await mkdir(work);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    for (const server of servers.splice(0)) await server.kill();
  });

  const host = async (
    answer?: () => Promise<ElicitResult>,
  ): Promise<Client> => {
    const client = new Client(
      { name: "test-host", version: "1" },
      { capabilities: answer ? { elicitation: { form: {} } } : {} },
    );
    if (answer) client.setRequestHandler("elicitation/create", answer);
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [MAIN, "mcp", "--data", join(base, "data")],
        cwd: work,
        stderr: "ignore",
      }),
    );
    clients.push(client);
    return client;
  };
  const serve = async (port: string): Promise<ServerProcess> => {
    const data = join(base, "data");
    const server = await startServing([
      ...["--data", data, "--workspace", work, "--no-console"],
      ...["--port", port],
    ]);
    servers.push(server);
    return server;
  };

  it("starts a server of its own, and works in the host's directory", async () => {
    const client = await host(() =>
      Promise.resolve({
        action: "accept",
        content: { answer: "proceed_once" },
      }),
    );
    const { tools } = await client.listTools();
    expect(tools[0]).toMatchObject({
      name: "agent_devtool",
      description: expect.stringContaining("Skills:"),
    });
    const result = await client.callTool({
      name: "agent_devtool",
      arguments: { prompt: "write a.txt hello\ntext Written." },
    });
    expect(result.structuredContent).toMatchObject({ text: "Written." });
    expect(fileText(work, "a.txt")).toBe("hello");
  });

  it("tells a host of 2026-07-28 what it subscribed to, until it cancels", async () => {
    const child = spawn(
      process.execPath,
      [MAIN, "mcp", "--data", join(base, "data")],
      { cwd: work, stdio: ["pipe", "pipe", "ignore"] },
    );
    const heard: { readonly [field: string]: unknown }[] = [];
    createInterface({ input: child.stdout }).on("line", (line) =>
      heard.push(JSON.parse(line)),
    );
    const send = (id: number | undefined, method: string, params: object) =>
      child.stdin.write(
        `${JSON.stringify({
          jsonrpc: "2.0",
          ...(id !== undefined && { id }),
          method,
          params: {
            ...params,
            ...(id !== undefined && {
              _meta: {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {
                  name: "raw",
                  version: "1",
                },
                "io.modelcontextprotocol/clientCapabilities": TASK_HOST,
              },
            }),
          },
        })}\n`,
      );
    const answer = async (id: number) => {
      await expect
        .poll(() => heard.find((message) => message.id === id), {
          timeout: 20_000,
        })
        .toBeDefined();
      return Object(heard.find((message) => message.id === id)).result;
    };
    const told = (method: string) =>
      heard
        .filter((message) => message.method === method)
        .map(({ params }) => Object(params));
    try {
      send(1, "tools/call", {
        name: "agent_devtool",
        arguments: { prompt: "write a.txt hello\ntext Written." },
      });
      const { taskId } = await answer(1);
      const uri = `devtool://tasks/${taskId}`;
      send(2, "subscriptions/listen", {
        notifications: { taskIds: [taskId], resourceSubscriptions: [uri] },
      });
      await expect
        .poll(() => told("notifications/tasks").at(-1)?.status)
        .toBe("input_required");
      expect(told("notifications/subscriptions/acknowledged")).toMatchObject([
        { notifications: { taskIds: [taskId], resourceSubscriptions: [uri] } },
      ]);
      const [key = ""] = Object.keys(
        told("notifications/tasks").at(-1)?.inputRequests,
      );
      const approve = { action: "accept", content: { answer: "proceed_once" } };
      send(3, "tasks/update", { taskId, inputResponses: { [key]: approve } });
      await expect
        .poll(() => told("notifications/tasks").at(-1)?.status)
        .toBe("completed");
      expect(told("notifications/resources/updated")).toContainEqual(
        expect.objectContaining({ uri }),
      );
      send(undefined, "notifications/cancelled", { requestId: 2 });
      const count = told("notifications/tasks").length;
      send(4, "tools/call", {
        name: "agent_devtool",
        arguments: { prompt: "text Again.", taskId },
      });
      await answer(4);
      send(5, "tools/call", { name: "task_wait", arguments: { taskId } });
      expect((await answer(5)).structuredContent).toMatchObject({
        text: "Again.",
      });
      expect(told("notifications/tasks")).toHaveLength(count);
    } finally {
      child.kill();
    }
  });

  it("goes on with an open question after the server was killed", async () => {
    const port = String(await freePort());
    const first = await serve(port);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<ElicitResult>();
    const client = await host(() => {
      asked.resolve();
      return answer.promise;
    });
    const calling = client.callTool({
      name: "agent_devtool",
      arguments: { prompt: "write a.txt hello\ntext Written." },
    });
    await asked.promise;
    await first.kill();
    await serve(port);
    answer.resolve({ action: "accept", content: { answer: "proceed_once" } });
    expect((await calling).structuredContent).toMatchObject({
      state: "completed",
      text: "Written.",
    });
    expect(fileText(work, "a.txt")).toBe("hello");
  });

  it("leaves the question to the next call of another host, over HTTP", async () => {
    const port = String(await freePort());
    const first = await serve(port);
    const plain = await host();
    const asks = await plain.callTool({
      name: "agent_devtool",
      arguments: { prompt: "write a.txt hello\ntext Written." },
    });
    const { taskId } = Object(asks.structuredContent);
    await plain.close();
    await first.kill();
    const second = await serve(port);
    const { url, token } = second.info;
    const client = await connectHost(
      { url, token },
      {
        era: "2026-07-28",
        answer: () => ({
          action: "accept",
          content: { answer: "proceed_once" },
        }),
      },
    );
    clients.push(client);
    const result = await client.callTool({
      name: "task_wait",
      arguments: { taskId },
    });
    expect(result.structuredContent).toMatchObject({ state: "completed" });
    expect(fileText(work, "a.txt")).toBe("hello");
  });
});
