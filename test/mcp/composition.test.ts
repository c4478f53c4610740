import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { nodeServer } from "./servers.ts";

const BROUGHT = {
  name: "brought",
  transport: {
    case: "http" as const,
    value: { url: "http://127.0.0.1:1/mcp" },
  },
};

describe("a coding agent that was made without MCP servers", () => {
  let workspace: string;
  beforeAll(() => {
    workspace = temporaryDirectory();
  });

  it("refuses a session whose client brings some", async () => {
    await using server = await serveCodingAgent({ workspace });
    await expect(bring(server)).rejects.toThrow(
      'mcp_servers "brought" cannot be used: agent "devtool" does not follow it: leave it out',
    );
  });

  it("fails the next turn of a session that brought some when it had them", async () => {
    const data = temporaryDirectory();
    const where = { workspace, dataDirectory: data };
    let contextId = "";
    {
      await using first = await serveCodingAgent({
        ...where,
        mcp: createMcp({}),
      });
      contextId = (await bring(first))?.contextId ?? "";
    }
    await using server = await serveCodingAgent(where);
    const message = textMessage(crypto.randomUUID(), "text hi");
    const { task } = await clientOf(server).tasks.sendMessage({
      message,
      contextId,
    });
    expect([task?.state, task?.error]).toEqual([
      TaskState.FAILED,
      'mcp_servers "brought" cannot be used: agent "devtool" does not follow it: leave it out',
    ]);
  });

  it("works on tasks whose clients bring none, and lists none (CMD-3)", async () => {
    await using server = await serveCodingAgent({ workspace });
    const { task } = await clientOf(server).tasks.sendMessage({
      message: textMessage("m1", "text hi"),
    });
    expect(task?.state).toBe(TaskState.COMPLETED);
    expect(await listed(server)).toBe("There are no MCP servers.");
  });

  it("lists those that another one was given", async () => {
    const bad = nodeServer("bad", ["-e", "process.exit(1)"]);
    await using server = await serveCodingAgent({
      workspace,
      mcp: createMcp({ servers: [bad] }),
    });
    expect(await listed(server)).toBe(
      'bad - failed: MCP server "bad": it ended with exit code 1',
    );
  });

  it("takes the operator's servers as plain data", () => {
    const stdio = {
      case: "stdio" as const,
      value: { command: "no-such-program" },
    };
    expect(() =>
      createMcp({ servers: [{ name: "files", transport: stdio }] }),
    ).not.toThrow();
    expect(() => createMcp({ targets: ["no port"] })).toThrow(
      /mcp_targets "no port"/,
    );
  });
});

/** The task of a message whose session brings an MCP server. */
async function bring(server: DevtoolServer) {
  const message = textMessage(crypto.randomUUID(), "text hi");
  return (
    await clientOf(server).tasks.sendMessage({
      message,
      sessionSettings: { mcpServers: [BROUGHT] },
    })
  ).task;
}

/** The output of `/mcp list`. */
async function listed(server: DevtoolServer): Promise<string> {
  const client = clientOf(server);
  const { result } = await client.commands.runSlashCommand({
    command: { commandPath: ["mcp", "list"] },
  });
  const taskId = result?.executionId ?? "";
  let text = "";
  for await (const { event } of client.tasks.subscribeTask(
    { taskId },
    { signal: AbortSignal.timeout(60_000) },
  )) {
    if (event?.payload.case === "text") text += event.payload.value.text;
  }
  return text;
}
