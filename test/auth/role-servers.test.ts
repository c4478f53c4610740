import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toJsonString } from "@bufbuild/protobuf";
import {
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { emptyTask, type Task, TaskSchema, toolCallsOf } from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { nodeServer } from "../mcp/servers.ts";
import { createIssuer, type Issuer } from "./issuer.ts";

const MODERN = fileURLToPath(
  new URL("../mcp/modern-server.ts", import.meta.url),
);
const RULES = `
[[rule]]
tool = "mcp__ops__*"
role = ["ops", "leads"]
decision = "deny"

[[rule]]
tool = "glob"
decision = "ask"
`;

describe("an MCP server that the operator gives to a role", () => {
  let issuer: Issuer;
  let server: DevtoolServer;
  beforeAll(async () => {
    issuer = await createIssuer();
    const base = temporaryDirectory();
    putFile(base, "policy.toml", RULES);
    await chmod(join(base, "policy.toml"), 0o600);
    const servers = [
      nodeServer("ops", [MODERN], { roles: ["ops"] }),
      nodeServer("all", [MODERN]),
    ];
    server = await createServer({
      agents: {
        devtool: codingAgent({
          mcp: createMcp({ servers }),
          policyFiles: [join(base, "policy.toml")],
        }),
      },
      workspace: temporaryDirectory(),
      dataDirectory: temporaryDirectory(),
      authentication: { jwt: { ...issuer.options, rolesClaim: "groups" } },
    });
  });
  afterAll(() => server.close());

  const as = async (subject: string, ...groups: string[]) => ({
    url: server.url,
    token: await issuer.tokenFor(subject, undefined, { groups }),
  });

  it.each(Object.entries(CLIENTS))(
    "has no tools for others, over %s",
    async (_binding, over) => {
      const outcomes: string[] = [];
      for (const groups of [["ops"], [], ["Ops", "ops2", "leads"]]) {
        const client = over(await as("ada", ...groups));
        outcomes.push(await callOf(client, "mcp__ops__deploy"));
        outcomes.push(await callOf(client, "mcp__all__deploy"));
      }
      expect(outcomes).toEqual([
        "policy_violation",
        "asks",
        "tool_not_registered",
        "asks",
        "tool_not_registered",
        "asks",
      ]);
    },
  );

  it("is gone from a conversation whose next message comes without the role", async () => {
    const lead = clientOf(await as("bob", "ops"));
    const { task } = await send(lead, "call mcp__ops__deploy {}");
    const later = clientOf(await as("bob"));
    const text = "call mcp__ops__deploy {}";
    const { task: again } = await send(later, text, task?.id);
    expect(outcomeOf(again)).toBe("tool_not_registered");
  });

  it("is not in the lists of others, nor are rules about their roles", async () => {
    const listOf = async (client: DevtoolClient, ...path: string[]) => {
      const command = { commandPath: path, args: "" };
      const { task } = await run(client, command);
      return toJsonString(TaskSchema, task ?? emptyTask());
    };
    const ops = clientOf(await as("carol", "ops"));
    expect(await listOf(ops, "mcp", "list")).toMatch(/ops.*all/s);
    const own = await listOf(ops, "policies", "list");
    expect(own).toContain("for role ops");
    expect(own).not.toContain("leads");
    const other = clientOf(await as("carol", "dev"));
    const servers = await listOf(other, "mcp", "list");
    expect(servers).toContain("all");
    expect(servers).not.toContain("ops");
    const rules = await listOf(other, "policies", "list");
    expect(rules).toContain("glob");
    expect(rules).not.toMatch(/ops|leads/);
    const { task } = await send(other, "text Hi.");
    const settings = await other.workspaces.getWorkspaceSettings({
      taskId: task?.id ?? "",
    });
    expect(settings.mcpServers.map(({ name }) => name)).toEqual(["all"]);
    expect(settings.rules).toHaveLength(1);
  });

  it("cannot be brought or aimed by a client", async () => {
    const http = { url: "https://mcp.example" };
    const transport = { case: "http" as const, value: http };
    const { tasks } = clientOf(await as("dave"));
    for (const aim of [{ roles: ["ops"] }, { principals: ["local"] }]) {
      const mcpServers = [{ name: "own", transport, ...aim }];
      await expect(
        tasks.sendMessage({
          message: textMessage(crypto.randomUUID(), "text Hi."),
          sessionSettings: { mcpServers },
        }),
      ).rejects.toThrow("names principals or roles, which only the operator");
    }
  });

  const send = ({ tasks }: DevtoolClient, text: string, taskId = "") =>
    tasks.sendMessage({
      taskId,
      message: textMessage(crypto.randomUUID(), text),
    });
  const callOf = async (client: DevtoolClient, tool: string) =>
    outcomeOf((await send(client, `call ${tool} {"name":"app"}`)).task);
});

async function run(
  { commands, tasks }: DevtoolClient,
  command: { readonly commandPath: string[]; readonly args: string },
) {
  const { result } = await commands.runSlashCommand({ command });
  const taskId = result?.executionId ?? "";
  expect(taskId).not.toBe("");
  for await (const _event of tasks.subscribeTask({ taskId })) {
    // Until the command has ended.
  }
  return tasks.getTask({ taskId });
}

/** `asks`, or why the last call of a task failed. */
function outcomeOf(task: Task | undefined): string {
  if (task && pendingToolCalls(task).length > 0) return "asks";
  const { result } = task?.history.flatMap(toolCallsOf).at(-1) ?? {};
  return result?.case === "error" ? (result.value.type ?? "failed") : "ran";
}
