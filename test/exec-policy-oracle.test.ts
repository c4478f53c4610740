import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  ExecuteDetailsSchema,
  FileDiffSchema,
  GenericDetailsSchema,
  McpDetailsSchema,
  TaskSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { isGuardedPath } from "../packages/server/src/tool/policy/guarded-paths.ts";
import { parsePolicyFile } from "../packages/server/src/tool/policy/policy-file.ts";
import { createPolicyEngine } from "../packages/server/src/tool/policy/rule-policy.ts";
import { createShellAnalyzer } from "../packages/server/src/tool/policy/shell/shell-analysis.ts";
import type { PolicyRequest } from "../packages/server/src/tool/policy-engine.ts";

const CORE = fileURLToPath(new URL("../peers/node_modules/@google/gemini-cli-core/dist/index.js", import.meta.url));
const isInstalled = existsSync(CORE);
if (!isInstalled) console.log("skipped: Gemini CLI's policy engine is not installed: run node scripts/peers.ts");

const BYPASSES: Readonly<Record<string, readonly string[]>> = JSON.parse(read("exec-policy/bypasses.json"));
const ORDINARY: readonly string[] = JSON.parse(read("exec-policy/ordinary.json"));

/** The same rules in both languages. */
const OURS = `
[[rule]]
command_prefix = ["npm test", "npm run build", "make", "git add", "git commit"]
decision = "allow"
priority = 500
[[rule]]
command_prefix = ["touch", "git push"]
decision = "deny"
priority = 600
[[rule]]
command_prefix = "cargo build"
decision = "ask"
priority = 700
[[rule]]
mcp_server = "notes"
decision = "allow"
priority = 500
[[rule]]
tool = "write_file"
args_pattern = "secret"
decision = "deny"
priority = 500
`;
const THEIRS = OURS.replaceAll("command_prefix", 'toolName = "run_shell_command"\ncommandPrefix')
  .replace('mcp_server = "notes"', 'toolName = "*"\nmcpName = "notes"')
  .replace("tool =", "toolName =")
  .replace("args_pattern", "argsPattern")
  .replace('"ask"', '"ask_user"');

interface Case {
  readonly mode: "default" | "auto_edit" | "plan" | "yolo";
  readonly tool: string;
  readonly args: JsonObject;
  readonly server?: string;
}

interface Answered extends Case {
  readonly ours: string;
  readonly theirs: string;
}

/** Where we differ on purpose. Each is justified in docs/policy.md under its name. */
const DIFFERENCES: Readonly<Record<string, (answered: Answered) => boolean>> = {
  "stricter arguments": ({ ours, theirs, tool, mode }) =>
    isShell(tool) && /default|auto_edit/.test(mode) && ours === "ask" && theirs === "allow",
  "more that only reads": ({ ours, theirs, tool, args, mode }) =>
    isShell(tool) && /default|auto_edit/.test(mode) && ours === "allow" && theirs === "ask" && isOrdinary(args),
  "denials look inside": ({ ours, theirs, tool, mode }) =>
    isShell(tool) && mode !== "plan" && ours === "deny" && theirs !== "deny",
  "plan mode is closed": ({ ours, mode }) => mode === "plan" && ours === "deny",
  "yolo keeps denials": ({ ours, theirs, tool, mode }) =>
    isShell(tool) && mode === "yolo" && ours === "ask" && theirs === "allow",
  "guarded files": ({ ours, theirs, args }) =>
    ours === "ask" && theirs === "allow" && isGuardedPath(String(args.file_path ?? "")),
  "the network is no edit": ({ ours, theirs, tool, mode }) =>
    tool === "web_fetch" && mode === "auto_edit" && ours === "ask" && theirs === "allow",
};

describe("our policy beside that of Gemini CLI", () => {
  it.skipIf(!isInstalled)("differs only where it is meant to, and says so", { timeout: 120_000 }, async () => {
    const answered = await answers(cases());
    const differing = answered.filter(({ ours, theirs }) => ours !== theirs);
    const counts = new Map<string, number>();
    const unexplained = differing.filter((answer) => {
      const name = Object.keys(DIFFERENCES).find((key) => DIFFERENCES[key]?.(answer));
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
      return name === undefined;
    });
    console.log(`oracle: ${answered.length} decisions, ${differing.length} differ: ${JSON.stringify([...counts])}`);
    expect(unexplained).toEqual([]);
    expect([...counts.keys()].sort()).toEqual(Object.keys(DIFFERENCES).sort());
    for (const [name, count] of counts) expect(read("../docs/policy.md")).toContain(`**${name}** (${count})`);
  });

  it("has each difference justified in the manual", () => {
    const manual = read("../docs/policy.md");
    for (const name of Object.keys(DIFFERENCES)) expect(manual).toContain(`**${name}**`);
  });
});

function cases(): Case[] {
  const commands = [...Object.values(BYPASSES).flat(), ...ORDINARY].map((command) => shell(command));
  const files = ["a.txt", "src/a.ts", ".git/config", ".vscode/tasks.json"];
  const calls = [
    ...commands,
    ...files.map((file_path) => ({ tool: "read_file", args: { file_path } })),
    ...files.map((file_path) => ({ tool: "write_file", args: { file_path, content: "x" } })),
    { tool: "write_file", args: { file_path: "a.txt", content: "secret" } },
    { tool: "web_fetch", args: { prompt: "http://a.example" } },
    { tool: "mcp_notes_add", args: {}, server: "notes" },
    { tool: "mcp_mail_send", args: {}, server: "mail" },
  ];
  const modes = ["default", "auto_edit", "plan", "yolo"] as const;
  return modes.flatMap((mode) => calls.map((call) => ({ ...call, mode })));
}

function shell(command: string): { readonly tool: string; readonly args: JsonObject } {
  return { tool: "run_shell_command", args: { command } };
}

async function answers(asked: readonly Case[]): Promise<Answered[]> {
  const [ours, theirs] = [await ourAnswers(asked), await theirAnswers(asked)];
  return asked.map((one, index) => ({ ...one, ours: ours[index] ?? "", theirs: theirs[index] ?? "" }));
}

async function ourAnswers(asked: readonly Case[]): Promise<string[]> {
  const rules = parsePolicyFile(OURS, { tier: "user", file: "user.toml" });
  const options = { workspace: "/w", shellConfinement: "sandbox" as const, rules, analyze: createShellAnalyzer() };
  const engines = new Map(MODES.map(([name, mode]) => [name, createPolicyEngine({ ...options, mode })]));
  const said: string[] = [];
  for (const one of asked) {
    const decision = await engines.get(one.mode)?.decide(requestOf(one), AbortSignal.timeout(5000));
    said.push(decision?.decision ?? "");
  }
  return said;
}

const MODES = [
  ["default", ApprovalMode.DEFAULT],
  ["auto_edit", ApprovalMode.AUTO_EDIT],
  ["plan", ApprovalMode.PLAN],
  ["yolo", ApprovalMode.YOLO],
] as const;

async function theirAnswers(asked: readonly Case[]): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), "devtool-oracle-"));
  try {
    const [rules, questions, said] = ["user.toml", "questions.json", "answers.json"].map((name) =>
      join(directory, name),
    );
    if (rules === undefined || questions === undefined || said === undefined) return [];
    await writeFile(rules, THEIRS);
    const theirModes = asked.map((one) => ({ ...one, mode: one.mode === "auto_edit" ? "autoEdit" : one.mode }));
    await writeFile(questions, JSON.stringify({ rules, questions: theirModes }));
    const script = fileURLToPath(new URL("exec-policy/oracle.ts", import.meta.url));
    await promisify(execFile)(process.execPath, [script, CORE, questions, said], { maxBuffer: 1 << 28 });
    return JSON.parse(await readFile(said, "utf8"));
  } finally {
    await rm(directory, { recursive: true });
  }
}

function requestOf({ tool, args, server }: Case): PolicyRequest {
  const call = create(ToolCallSchema, { toolName: tool, inputParameters: args });
  const facts = server === undefined ? undefined : { mcpServer: server };
  return { call, facts, details: detailsOf(tool, args, server), task: create(TaskSchema) };
}

function detailsOf(tool: string, args: JsonObject, server: string | undefined): PolicyRequest["details"] {
  const [command, filePath] = [String(args.command ?? ""), String(args.file_path ?? "")];
  if (isShell(tool)) return { case: "executeDetails", value: create(ExecuteDetailsSchema, { command }) };
  if (tool === "write_file") return { case: "fileEditDetails", value: create(FileDiffSchema, { filePath }) };
  if (server !== undefined) return { case: "mcpDetails", value: create(McpDetailsSchema, { serverName: server }) };
  return tool === "read_file" ? undefined : { case: "genericDetails", value: create(GenericDetailsSchema) };
}

function isShell(tool: string): boolean {
  return tool === "run_shell_command";
}

function isOrdinary({ command }: JsonObject): boolean {
  return typeof command === "string" && ORDINARY.includes(command);
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), "utf8");
}
