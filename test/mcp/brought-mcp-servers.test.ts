import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { textMessage } from "@devtool/client";
import { createMcp } from "@devtool/mcp";
import { TaskState } from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { postJson } from "../post-json.ts";
import { Victim } from "../sandbox/workspace-attacks/victim.ts";

const SETTINGS = "https://devtool.dev/a2a/session-settings/v1alpha";
const BROUGHT = ["docs", "tickets"].map((name) => ({
  name,
  http: { url: "http://127.0.0.1:1/mcp" },
}));
const PROBLEM =
  'mcp_servers "docs, tickets" cannot be used: agent "plain" does not follow it';

const agents = {
  plain: agent({ follows: [] }),
  host: agent({ follows: ["mcp_servers"] }),
};

describe("a program that a client brought as an MCP server", () => {
  it.each(["http", "none"] as const)(
    "F-H1: starts no more once client_mcp_servers is %s",
    async (clientMcpServers) => {
      await using victim = new Victim();
      const options = { sandbox: "none", mcp: createMcp() } as const;
      const before = await victim.serve({
        ...options,
        clientMcpServers: "all",
      });
      const started = join(victim.loot, "started");
      const stdio = { command: "touch", args: [started] };
      const { task } = await clientOf(before).tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "text One."),
        sessionSettings: { mcpServers: [mcpServer(stdio)] },
      });
      expect(existsSync(started)).toBe(true);
      rmSync(started);
      await before.close();
      const server = await victim.serve({ ...options, clientMcpServers });
      const { tasks, commands, workspaces } = clientOf(server);
      const { id: taskId = "", contextId = "" } = task ?? {};
      const message = textMessage(crypto.randomUUID(), "text Two.");
      const refusal = 'mcp_servers "brought" is not allowed, since clients';
      await tasks.sendMessage({ message, taskId });
      expect((await tasks.getTask({ taskId })).task).toMatchObject({
        state: TaskState.FAILED,
        error: expect.stringContaining(refusal),
      });
      const another = textMessage(crypto.randomUUID(), "text Three.");
      for (const asked of [
        () => tasks.sendMessage({ message: another, contextId }),
        () => commands.getAllSlashCommands({ contextId }),
      ]) {
        await expect(asked()).rejects.toThrow(refusal);
      }
      await workspaces.getWorkspaceSettings({ taskId });
      expect(existsSync(started)).toBe(false);
    },
  );
});

function mcpServer(value: { command: string; args: string[] }) {
  return { name: "brought", transport: { case: "stdio" as const, value } };
}

describe("an agent that accepts no MCP servers of clients (SESSION-3)", () => {
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await createServer({ agents, workspace: process.cwd() });
  });
  afterAll(() => server.close());

  const remedy = "leave it out, or choose agent host";

  it("refuses a session that brings some over A2A 0.3", async () => {
    const message = {
      ...messageWithServers("user"),
      kind: "message",
      parts: [{ kind: "text", text: "Hi." }],
    };
    const { json } = await post("/", {
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message },
    });
    expect(json.error).toMatchObject({
      code: -32602,
      message: `${PROBLEM}: ${remedy}`,
    });
    expect(json.error.data).toMatchObject({
      field: "mcp_servers",
      value: "docs, tickets",
    });
  });

  it("refuses it over A2A 1.0", async () => {
    const message = {
      ...messageWithServers("ROLE_USER"),
      parts: [{ text: "Hi." }],
    };
    const { status, json } = await post(
      "/message:send",
      { message },
      { "a2a-version": "1.0" },
    );
    expect([status, json.error.message]).toEqual([
      400,
      `${PROBLEM}: ${remedy}`,
    ]);
  });

  it("refuses it over Connect, and so does the start of a command", async () => {
    await expect(send("plain")).rejects.toThrow(`${PROBLEM}: ${remedy}`);
    const command = { commandPath: ["about"] };
    const run = clientOf(server).commands.runSlashCommand({
      command,
      sessionSettings: settingsFor("plain"),
    });
    await expect(run).rejects.toThrow(PROBLEM);
  });

  it("lets a session bring them to an agent that takes some", async () => {
    expect(
      (await send("host")).task?.sessionSettings?.mcpServers,
    ).toMatchObject([{ name: "docs" }, { name: "tickets" }]);
  });

  it("names no other agent where there is none that takes some", async () => {
    await using alone = await createServer({
      agents: { plain: agent({ follows: [] }) },
      workspace: process.cwd(),
    });
    await expect(send("", alone)).rejects.toThrow(
      new RegExp(`${PROBLEM}: leave it out$`),
    );
  });

  function send(name: string, at = server) {
    const message = textMessage(crypto.randomUUID(), "Hi.");
    return clientOf(at).tasks.sendMessage({
      message,
      sessionSettings: settingsFor(name),
    });
  }

  async function post(
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ) {
    const response = await postJson(server, path, body, headers);
    return { status: response.status, json: JSON.parse(await response.text()) };
  }
});

/** An agent that says "Hi.". */
function agent(more: Pick<Agent, "follows">): Agent {
  const createExecutor = () => ({
    async *execute() {
      yield { case: "text" as const, value: "Hi." };
    },
  });
  return {
    about: { name: "Hi", description: "Says hi." },
    open: () => ({ createExecutor }),
    ...more,
  };
}

function messageWithServers(role: string): object {
  return {
    messageId: crypto.randomUUID(),
    role,
    metadata: { [SETTINGS]: { mcpServers: BROUGHT } },
  };
}

function settingsFor(name: string) {
  const mcpServers = BROUGHT.map(({ http, ...one }) => ({
    ...one,
    transport: { case: "http" as const, value: http },
  }));
  return { agent: name, mcpServers };
}
