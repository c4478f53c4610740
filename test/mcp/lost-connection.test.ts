import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { mcp } from "@devtool/mcp/server";
import { type DevtoolServer, defaultDialects } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SteadyAddress } from "../steady-address.ts";
import { connectHost } from "./host.ts";
import { modernRequest } from "./modern-request.ts";

describe("a host whose connection is cut", () => {
  let workspace: string;
  let server: DevtoolServer;
  let address: SteadyAddress;
  beforeEach(async () => {
    workspace = temporaryDirectory();
    address = await SteadyAddress.open();
    server = await serveCodingAgent({
      workspace,
      allowedHosts: [address.host],
      dialects: [mcp(), ...defaultDialects()],
    });
    address.lead(server.url);
  });
  afterEach(async () => {
    await address[Symbol.asyncDispose]();
    await server.close();
  });
  const approve = {
    action: "accept",
    content: { answer: "proceed_once" },
  } as const;
  const throughAddress = () => ({ url: address.url, token: server.token });

  it("in the middle of a call picks the task up with task_wait (2025)", async () => {
    const first = await connectHost(throughAddress(), {
      era: "legacy",
      answer: () => approve,
    });
    const heard: string[] = [];
    const calling = first.callTool(
      {
        name: "agent_devtool",
        arguments: { prompt: "wait 1500\nwrite a.txt hello\ntext Written." },
      },
      { onprogress: ({ message = "" }) => heard.push(message) },
    );
    calling.catch(() => undefined);
    await expect.poll(() => heard[0]).toMatch(/^task /);
    const taskId = heard[0]?.split(" ")[1] ?? "";
    address.cut();
    const second = await connectHost(server, {
      era: "legacy",
      answer: () => approve,
    });
    const result = await second.callTool({
      name: "task_wait",
      arguments: { taskId },
    });
    expect(result.structuredContent).toMatchObject({
      taskId,
      state: "completed",
      text: "Written.",
    });
    expect(fileText(workspace, "a.txt")).toBe("hello");
    await second.close();
    await first.close();
  });

  it("while it holds a task asks for it again, and answers (SEP-2663)", async () => {
    const call = {
      name: "agent_devtool",
      arguments: { prompt: "write a.txt hello" },
    };
    const { answer } = await modernRequest(throughAddress(), {
      method: "tools/call",
      params: call,
    });
    const { taskId } = answer.result;
    address.cut();
    const get = async () => {
      const request = { method: "tasks/get", params: { taskId } };
      return (await modernRequest(server, request)).answer.result;
    };
    await expect.poll(async () => (await get()).status).toBe("input_required");
    const [key = ""] = Object.keys((await get()).inputRequests);
    await modernRequest(server, {
      method: "tasks/update",
      params: { taskId, inputResponses: { [key]: approve } },
    });
    await expect.poll(async () => (await get()).status).toBe("completed");
    expect(fileText(workspace, "a.txt")).toBe("hello");
  });

  it("in the middle of a plain call withdraws its work (2026)", async () => {
    const lost = modernRequest(throughAddress(), {
      method: "tools/call",
      params: { name: "agent_devtool", arguments: { prompt: "wait 60000" } },
      capabilities: {},
    });
    const failed = expect(lost).rejects.toThrow();
    const tasks = async () => {
      const request = { method: "resources/list" };
      return (await modernRequest(server, request)).answer.result;
    };
    await expect.poll(async () => (await tasks()).resources).toHaveLength(1);
    address.cut();
    await failed;
    await expect
      .poll(async () => (await tasks()).resources[0].description)
      .toMatch(/canceled$/);
    // What may be kept of it, and by whom, is in each list and read.
    const { ttlMs, cacheScope } = await tasks();
    expect({ ttlMs, cacheScope }).toEqual({ ttlMs: 0, cacheScope: "private" });
  });
});
