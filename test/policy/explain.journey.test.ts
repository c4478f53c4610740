import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "@devtool/cli/testing";
import {
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { defined } from "@devtool/internal/json";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { ApprovalMode, type Task, toolCallsOf } from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { transportOf } from "../client-of.ts";
import { nodeServer } from "../mcp/servers.ts";

const MODERN = fileURLToPath(
  new URL("../mcp/modern-server.ts", import.meta.url),
);

const TEAM = `
[[rule]]
command_prefix = "touch"
role = "ops"
decision = "allow"
priority = 10

[[rule]]
command_prefix = "touch secret"
decision = "deny"
priority = 20

[[rule]]
tool = ["write_file", "replace", "multi_edit"]
principal = "https://login.example#bot"
decision = "deny"

[[rule]]
tool = "glob"
agent = "second"
decision = "ask"

[[rule]]
mcp_server = "all"
role = "ops"
decision = "allow"

[[rule]]
path = ["**/.env", ".env"]
decision = "deny"
`;

const OWN = `
[[rule]]
tool = "list_directory"
role = "guests"
decision = "deny"

[[rule]]
command_prefix = "touch"
decision = "ask"

[[rule]]
tool = "save_memory"
role = ["ops", "guests"]
decision = "allow"

[[rule]]
tool = "web_fetch"
decision = "deny"
`;

const CALLS: readonly (readonly [string, object])[] = [
  ["run_shell_command", { command: "touch a" }],
  ["run_shell_command", { command: "touch secret" }],
  ["run_shell_command", { command: "touch a && touch secret" }],
  ["run_shell_command", { command: "touch a; cat .env" }],
  ["run_shell_command", { command: "cat .env" }],
  ["run_shell_command", { command: "touch a", directory: "sub" }],
  ["run_shell_command", { command: "cat .env", directory: "." }],
  ["run_shell_command", { command: "cat ../.env", directory: "sub" }],
  ["run_shell_command", { command: "ls" }],
  ["run_shell_command", { command: "touch $(cat x)" }],
  ["run_shell_command", { command: "touch a > b" }],
  ["read_file", { file_path: "a.txt" }],
  ["read_file", { file_path: ".env" }],
  ["read_file", { file_path: "sub/../.env" }],
  ["read_many_files", { paths: ["a.txt"] }],
  ["read_many_files", { paths: [".env"] }],
  ["list_directory", { path: "." }],
  ["glob", { pattern: "*.txt" }],
  ["search_file_content", { pattern: "x" }],
  ["search_file_content", { pattern: "x", path: ".env" }],
  ["write_file", { file_path: "n.txt", content: "n" }],
  ["write_file", { file_path: ".env", content: "n" }],
  ["write_file", { file_path: ".git/config", content: "n" }],
  ["replace", { file_path: "a.txt", old_string: "a", new_string: "b" }],
  [
    "multi_edit",
    { file_path: "a.txt", edits: [{ old_string: "a", new_string: "b" }] },
  ],
  ["save_memory", { fact: "x" }],
  ["web_fetch", { url: "http://127.0.0.1:1/" }],
  ["update_plan", { steps: [] }],
  ["mcp__all__forge", {}],
  ["mcp__ops__forge", {}],
];

const CALLERS = [
  { subject: "ada", roles: [] },
  { subject: "ada", roles: ["ops"] },
  { subject: "ada", roles: ["guests", "other"] },
  { subject: "bot", roles: ["ops"] },
  { subject: "ada", roles: ["ops"], agent: "second" },
  { subject: "ada", roles: ["ops"], mode: "plan" },
] as const;

describe("devtool policy explain", () => {
  const data = temporaryDirectory();
  let issuer: Issuer;
  let server: DevtoolServer;
  let workspace: string;
  beforeAll(async () => {
    issuer = await createIssuer();
    workspace = temporaryDirectory();
    putFile(workspace, "a.txt", "a\n");
    putFile(workspace, ".env", "KEY=x\n");
    putFile(workspace, "sub/b.txt", "b\n");
    const servers = [
      nodeServer("all", [MODERN]),
      nodeServer("ops", [MODERN], { roles: ["ops"] }),
    ];
    const write = (name: string, text: string) =>
      writeFile(join(data, name), text, { mode: 0o600 });
    await write("team.toml", TEAM);
    await write("policy.toml", OWN);
    const stdio = `stdio = { command = ${JSON.stringify(process.execPath)} }`;
    await write(
      "config.toml",
      `policy_files = ["team.toml"]
sandbox = "none"

[[agents]]
module = "devtool"

[[agents]]
name = "second"
module = "devtool"

[[mcp_servers]]
name = "all"
${stdio}

[[mcp_servers]]
name = "ops"
roles = ["ops"]
${stdio}
`,
    );
    const agent = () =>
      codingAgent({
        mcp: createMcp({ servers }),
        policyFiles: [join(data, "team.toml")],
        sandbox: "none",
      });
    server = await createServer({
      agents: { devtool: agent(), second: agent() },
      workspace,
      dataDirectory: data,
      authentication: { jwt: { ...issuer.options, rolesClaim: "groups" } },
    });
  });
  afterAll(() => server.close());

  it.each(CALLERS)("says for %j what then happens", async (caller) => {
    const {
      subject,
      roles,
      agent = "devtool",
      mode = "default",
    } = {
      agent: undefined,
      mode: undefined,
      ...caller,
    };
    const token = await issuer.tokenFor(subject, undefined, { groups: roles });
    const client = createDevtoolClient(transportOf({ url: server.url, token }));
    const said: string[] = [];
    const happened: string[] = [];
    for (const [tool, args] of CALLS) {
      const json = JSON.stringify(args);
      const flags = [
        ...["--principal", `https://login.example#${subject}`],
        ...["--agent", agent, "--approval-mode", mode],
        ...(roles.length > 0 ? ["--role", ...roles] : []),
      ];
      const { code, out, err } = await runCommand([
        ...["policy", "explain", "--data", data, "--workspace", workspace],
        ...["--tool", tool, "--arguments", json, "--json", ...flags],
      ]);
      expect([code, err]).toEqual([0, ""]);
      const decision = String(JSON.parse(out).decision);
      const call = `${tool} ${json}`;
      said.push(
        `${decision.replace("RULE_DECISION_", "").toLowerCase()} ${call}`,
      );
      const outcome = await play(client, { call, agent, mode });
      happened.push(`${outcome} ${call}`);
    }
    expect(said).toEqual(happened);
    // The table tells them apart.
    for (const decision of ["allow", "ask", "deny"]) {
      if (mode === "plan" && decision === "ask") continue;
      expect(said.join("\n")).toMatch(new RegExp(`^${decision} `, "m"));
    }
  });
});

interface Played {
  readonly call: string;
  readonly agent: string;
  readonly mode: string;
}

/** Returns what becomes of a call: whether it runs, asks or is denied. */
async function play(
  { tasks }: DevtoolClient,
  { call, agent, mode }: Played,
): Promise<string> {
  const approvalMode = mode === "plan" ? ApprovalMode.PLAN : undefined;
  const { task } = await tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), `call ${call}`),
    sessionSettings: { agent, ...defined({ approvalMode }) },
  });
  const taskId = task?.id ?? "";
  const outcome = outcomeOf(task);
  if (outcome === "ask") await tasks.cancelTask({ taskId });
  return outcome;
}

function outcomeOf(task: Task | undefined): string {
  if (task && pendingToolCalls(task).length > 0) return "ask";
  const { result } = task?.history.flatMap(toolCallsOf).at(-1) ?? {};
  const type = result?.case === "error" ? result.value.type : "";
  return ["policy_violation", "tool_not_registered"].includes(type ?? "")
    ? "deny"
    : "allow";
}
