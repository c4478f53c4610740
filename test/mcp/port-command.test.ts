import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Client, type ElicitResult } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";
import { connectHost, ERAS } from "./host.ts";
import { modernRequest, TASK_HOST } from "./modern-request.ts";
import { modernMeta, RawHost } from "./raw-host.ts";

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
  const serve = async (): Promise<ServerProcess> => {
    const data = join(base, "data");
    const server = await startServing([
      ...["--data", data, "--workspace", work, "--no-console"],
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
    await using raw = new RawHost(["--data", join(base, "data")], work);
    const _meta = modernMeta(TASK_HOST);
    const ask = async (method: string, params: object) =>
      (await raw.request(method, { ...params, _meta })).result;
    const { taskId } = await ask("tools/call", {
      name: "agent_devtool",
      arguments: { prompt: "write a.txt a\nwrite b.txt b\ntext Written." },
    });
    const uri = `devtool://tasks/${taskId}`;
    const listening = raw.send("subscriptions/listen", {
      notifications: { taskIds: [taskId], resourceSubscriptions: [uri] },
      _meta,
    });
    const statuses = () => raw.told("notifications/tasks");
    await expect.poll(() => statuses().at(-1)?.status).toBe("input_required");
    expect(raw.told("notifications/subscriptions/acknowledged")).toMatchObject([
      { notifications: { taskIds: [taskId], resourceSubscriptions: [uri] } },
    ]);
    const asked = () => Object.keys(statuses().at(-1)?.inputRequests ?? {});
    const approve = async ([key = ""]: readonly string[]) => {
      const answer = { action: "accept", content: { answer: "proceed_once" } };
      const inputResponses = { [key]: answer };
      await ask("tasks/update", { taskId, inputResponses });
    };
    const [first] = asked();
    await approve(asked());
    await expect.poll(() => asked()[0] ?? first).not.toBe(first);
    await expect
      .poll(() => raw.told("notifications/resources/updated"))
      .toContainEqual(expect.objectContaining({ uri }));
    raw.notify("notifications/cancelled", { requestId: listening });
    const count = statuses().length;
    await approve(asked());
    const waited = await ask("tools/call", {
      name: "task_wait",
      arguments: { taskId },
    });
    expect(waited.structuredContent).toMatchObject({ text: "Written." });
    expect(statuses()).toHaveLength(count);
  });

  it("goes on with an open question after the server was killed", async () => {
    const first = await serve();
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
    await serve();
    answer.resolve({ action: "accept", content: { answer: "proceed_once" } });
    expect((await calling).structuredContent).toMatchObject({
      state: "completed",
      text: "Written.",
    });
    expect(fileText(work, "a.txt")).toBe("hello");
  });

  it("keeps the task that a call returned, and a subscription, when its server is killed at once", async () => {
    const first = await serve();
    const ask = async (
      { info }: ServerProcess,
      method: string,
      params: JsonObject,
    ) => (await modernRequest(info, { method, params })).answer.result;
    const begin = async (): Promise<string> => {
      const { taskId } = await ask(first, "tools/call", {
        name: "agent_devtool",
        arguments: { prompt: "write a.txt hello\ntext Written." },
      });
      return taskId;
    };
    await using raw = new RawHost(["--data", join(base, "data")], work);
    await raw.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    raw.notify("notifications/initialized");
    const watched = await begin();
    const isAsked = async (server: ServerProcess, taskId: string) =>
      (await ask(server, "tasks/get", { taskId })).inputRequests;
    await expect.poll(() => isAsked(first, watched)).toBeDefined();
    const uri = `devtool://tasks/${watched}`;
    await raw.request("resources/subscribe", { uri });
    const taskId = await begin();
    await first.kill();
    const second = await serve();
    expect(await ask(second, "tasks/get", { taskId })).toMatchObject({
      taskId,
    });
    expect(raw.told("notifications/resources/updated")).toEqual([]);
    await ask(second, "tasks/cancel", { taskId: watched });
    await expect
      .poll(() => raw.told("notifications/resources/updated"), {
        timeout: 30_000,
      })
      .toContainEqual({ uri });
  });

  it.each(ERAS)(
    "leaves the question to another host, over HTTP in era %s, after the server was killed",
    async (era) => {
      const first = await serve();
      const plain = await host();
      const asks = await plain.callTool({
        name: "agent_devtool",
        arguments: { prompt: "write a.txt hello\ntext Written." },
      });
      const { taskId } = Object(asks.structuredContent);
      await plain.close();
      await first.kill();
      const second = await serve();
      const { url, token } = second.info;
      const client = await connectHost(
        { url, token },
        {
          era,
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
    },
  );
});
