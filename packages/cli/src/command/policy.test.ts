import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const CONFIG = `
policy_files = ["team.toml"]
sandbox = "none"

[[mcp_servers]]
name = "notes"
stdio = { command = "notes" }

[[mcp_servers]]
name = "pay.roll"
stdio = { command = "pay" }
roles = ["hr"]
`;

const TEAM = `# The team's rules.

[[rule]]
name = "releases"
command_prefix = "npm publish"
decision = "ask"
role = "release-managers"
priority = 10

[[rule]]
command_prefix = "npm publish"
decision = "deny"
deny_message = "ask a release manager"

[[rule]]
tool = "mcp__notes__*"
decision = "allow"

[[rule]]
command_prefix = "rm"
decision = "deny"
`;

const OWN = `[[rule]]
command_prefix = "npm publish"
decision = "allow"

[[rule]]
path = "*.lock"
decision = "deny"
principal = "https://login.example#bot"
`;

const SAVED = `[[rule]]
tool = ["run_shell_command"]
command_prefix = ["make"]
exact_command = true
without_sandbox = true
workspace = "WORKSPACE"
decision = "allow"
`;

describe("devtool policy explain", () => {
  let data: string;
  let workspace: string;
  beforeEach(async () => {
    const base = temporaryDirectory();
    data = join(base, "data");
    workspace = join(base, "workspace");
    await mkdir(data);
    await mkdir(workspace);
    const write = (name: string, text: string) =>
      writeFile(join(data, name), text, { mode: 0o600 });
    await write("config.toml", CONFIG);
    await write("team.toml", TEAM);
    await write("policy.toml", OWN);
    const saved = SAVED.replace("WORKSPACE", workspace);
    await write("saved-approvals.toml", saved);
  });

  it("says which rule decides, where it is, and why others do not", async () => {
    expect(
      await explain("run_shell_command", { command: "npm publish" }),
    ).toBe(`deny: run_shell_command for local
  decided by DATA/team.toml:2: ask a release manager
  approval mode default, no sandbox
rules about it:
  DATA/team.toml line 3 "releases"  ask npm publish … for role release-managers  does not decide: it is for role release-managers
  DATA/team.toml line 10  deny npm publish …  decides
  policy.toml line 1  allow npm publish …  does not decide: DATA/team.toml:2 is the operator's, which decides first
saved approvals of it: none
`);
  });

  it.each([
    [
      "a role",
      ["run_shell_command", { command: "npm publish" }],
      ["--principal", "p", "--role", "dev", "release-managers"],
      "ask: run_shell_command for p (role dev, release-managers)",
      "does not decide: its priority is 0, and that of DATA/team.toml:releases is 10",
    ],
    [
      "a part of a line",
      ["run_shell_command", { command: "ls && npm publish" }],
      [],
      "deny: run_shell_command",
      "deny npm publish …  decides",
    ],
    [
      "a rule about one part of a line, below another rule's priority",
      ["run_shell_command", { command: "npm publish && rm a" }],
      ["--principal", "p", "--role", "dev", "release-managers"],
      "deny: run_shell_command",
      "deny rm …  decides",
    ],
    [
      "a saved approval",
      ["run_shell_command", { command: "make" }],
      [],
      "allow: run_shell_command",
      "saved-approvals.toml rule 1  allow make also without a sandbox  decides",
    ],
    [
      "a saved approval of somebody else",
      ["run_shell_command", { command: "make" }],
      ["--principal", "p"],
      "ask: run_shell_command for p",
      "saved approvals of it: none",
    ],
    [
      "another principal",
      ["write_file", { file_path: "a.lock" }],
      [],
      "ask: write_file for local",
      "does not decide: it is for https://login.example#bot",
    ],
    [
      "that principal",
      ["write_file", { file_path: "a.lock" }],
      ["--principal", "https://login.example#bot"],
      "deny: write_file",
      "policy.toml line 5  deny on *.lock for https://login.example#bot  decides",
    ],
    [
      "an MCP server",
      ["mcp__notes__add", {}],
      [],
      "allow: mcp__notes__add",
      "line 15  allow mcp__notes__*  decides",
    ],
    [
      "an MCP server that only some have, by the name that models see",
      ["mcp__pay_roll__list", {}],
      ["--principal", "https://login.example#bob"],
      "deny: mcp__pay_roll__list",
      "",
    ],
    [
      "plan mode",
      ["mcp__notes__add", {}],
      ["--approval-mode", "plan"],
      "deny: mcp__notes__add",
      "does not decide: it does not apply in plan mode",
    ],
    [
      "a guarded file",
      ["write_file", { file_path: ".git/config" }],
      ["--approval-mode", "yolo"],
      "decided by builtin:guarded-path",
      "rules about it: none",
    ],
    ["a read", ["read_file", { file_path: "a" }], [], "allow: read_file", ""],
  ] as const)("decides by %s", async (_by, [tool, args], flags, ...says) => {
    const text = await explain(tool, args, ...flags);
    for (const said of says) expect(text).toContain(said);
  });

  it("prints one message of JSON, and writes nothing", async () => {
    const before = await readdir(data);
    const text = await explain(
      "run_shell_command",
      { command: "npm publish" },
      "--json",
    );
    expect(JSON.parse(text)).toMatchObject({
      decision: "RULE_DECISION_DENY",
      rule: "DATA/team.toml:2",
      reason: "ask a release manager",
      rules: [
        { label: "DATA/team.toml:releases", line: 3 },
        { line: 10, decides: true },
        { file: "policy.toml", line: 1 },
      ],
      approvalMode: "APPROVAL_MODE_DEFAULT",
    });
    expect(await readdir(data)).toEqual(before);
  });

  it("refuses arguments that are no object, or that the tool cannot have", async () => {
    for (const [text, problem] of [
      ["git push", "is not a JSON object"],
      ["[]", "is not a JSON object"],
      ["{}", 'no text "command", which run_shell_command needs'],
    ] as const) {
      const { code, err } = await runCommand([
        ...["policy", "explain", "--data", data],
        ...["--tool", "run_shell_command", "--arguments", text],
      ]);
      expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
    }
  });

  it("shows no characters of a rule that would change the terminal", async () => {
    const rule = '[[rule]]\nname = "x\\u001b[2Ky\\nallow"\ndecision = "deny"\n';
    await writeFile(join(data, "policy.toml"), rule);
    const text = await explain("write_file", { file_path: "a" });
    expect(text).toContain("x\\u{1b}[2Ky\\u{a}allow");
    expect(text).not.toContain("\u001b");
  });

  it("runs no program of the project to look for a sandbox", async () => {
    await writeFile(join(data, "config.toml"), 'sandbox = "srt"\n');
    const programs = join(workspace, "node_modules/.bin");
    await mkdir(programs, { recursive: true });
    const ran = join(workspace, "ran");
    const script = `#!/bin/sh\n: >${ran}\n`;
    await writeFile(join(programs, "srt"), script, { mode: 0o755 });
    const path = `${programs}:/usr/bin:/bin`;
    await runCommand(
      [
        ...["policy", "explain", "--data", data, "--workspace", workspace],
        ...["--tool", "run_shell_command", "--arguments", '{"command":"ls"}'],
      ],
      { env: { PATH: path } },
    );
    expect(await readdir(workspace)).toEqual(["node_modules"]);
  });

  async function explain(tool: string, args: object, ...flags: string[]) {
    const { code, out, err } = await runCommand([
      ...["policy", "explain", "--data", data, "--workspace", workspace],
      ...["--tool", tool, "--arguments", JSON.stringify(args), ...flags],
    ]);
    expect([code, err]).toEqual([0, ""]);
    return out.replaceAll(data, "DATA");
  }
});
