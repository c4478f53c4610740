import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create, type JsonObject } from "@bufbuild/protobuf";
import type { PolicyRequest } from "@devtool/policy";
import {
  createPolicyEngine,
  createShellAnalyzer,
  isGuardedPath,
  parsePolicyFile,
} from "@devtool/policy";
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

const CORE = fileURLToPath(
  new URL(
    "../../peers/node_modules/@google/gemini-cli-core/dist/index.js",
    import.meta.url,
  ),
);
const isInstalled = existsSync(CORE);
if (!isInstalled) {
  console.log(
    "skipped: Gemini CLI's policy engine is not installed: run npx -y pnpm@12 install:peers",
  );
}

const BYPASSES: Readonly<Record<string, readonly string[]>> = JSON.parse(
  read("../policy/exec-policy/bypasses.json"),
);
const ORDINARY: readonly string[] = JSON.parse(
  read("../policy/exec-policy/ordinary.json"),
);

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
const THEIRS = OURS.replaceAll(
  "command_prefix",
  'toolName = "run_shell_command"\ncommandPrefix',
)
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

/**
 * A reason why we differ on purpose. docs/policy.md justifies it under its
 * name.
 */
interface Difference {
  readonly name: string;
  readonly covers: (answered: Answered) => boolean;
  /**
   * Commands that the manual names for it, which must differ for this reason
   * and no other.
   */
  readonly examples?: readonly string[];
}

/** The first that covers a decision explains it. */
const DIFFERENCES: readonly Difference[] = [
  {
    name: "Plan mode is closed",
    covers: ({ ours, mode }) => mode === "plan" && ours === "deny",
    examples: ["npm test", "make"],
  },
  {
    name: "Fetching is not an edit",
    covers: ({ ours, theirs, tool, mode }) =>
      tool === "web_fetch" &&
      mode === "auto_edit" &&
      ours === "ask" &&
      theirs === "allow",
  },
  {
    name: "Guarded files",
    covers: ({ ours, theirs, args, mode }) =>
      ours === "ask" &&
      theirs === "allow" &&
      /auto_edit|yolo/.test(mode) &&
      writesGuardedPath(args),
    examples: ["echo x > .git/hooks/pre-commit", "npm test >> .npmrc"],
  },
  {
    name: "Denials look inside",
    covers: ({ ours, theirs, tool, mode }) =>
      isShell(tool) && mode !== "plan" && ours === "deny" && theirs !== "deny",
    examples: [
      "git --no-pager push",
      "g''it push",
      'trap "touch owned" DEBUG; ls',
      "git -c alias.x='!touch owned' x",
    ],
  },
  {
    name: "Yolo keeps denials",
    covers: ({ ours, theirs, tool, mode }) =>
      isShell(tool) && mode === "yolo" && ours === "ask" && theirs === "allow",
    examples: [
      "ls | while read f; do rm $f; done",
      "find . -exec rm {} +",
      "sudo make",
    ],
  },
  {
    name: "Stricter arguments",
    covers: ({ ours, theirs, tool, mode }) =>
      isShell(tool) &&
      /default|auto_edit/.test(mode) &&
      ours === "ask" &&
      theirs === "allow",
    examples: [
      "uniq a b",
      "git -C sub status",
      "echo 'a\u202eb'",
      "make *",
      "make > a",
    ],
  },
  {
    name: "More commands only read",
    covers: ({ ours, theirs, tool, args, mode }) =>
      isShell(tool) &&
      /default|auto_edit/.test(mode) &&
      ours === "allow" &&
      theirs === "ask" &&
      isOrdinary(args),
    examples: [
      "grep -c foo a.txt 2>/dev/null",
      "git ls-files src",
      "sort -u a.txt | uniq -c | sort -rn | head",
    ],
  },
];

describe("our policy beside that of Gemini CLI", () => {
  it.skipIf(!isInstalled)(
    "differs only for the reasons that the manual gives",
    async () => {
      const answered = await answers(cases());
      const differing = answered.filter(({ ours, theirs }) => ours !== theirs);
      const explained = Map.groupBy(
        differing,
        (one) => DIFFERENCES.find(({ covers }) => covers(one))?.name,
      );
      const counts = DIFFERENCES.map(
        ({ name }) => `${name} ${explained.get(name)?.length ?? 0}`,
      );
      console.log(
        `oracle: ${answered.length} decisions, ${differing.length} differ: ${counts.join(", ")}`,
      );
      expect(explained.get(undefined) ?? []).toEqual([]);
      for (const { name, examples = [] } of DIFFERENCES) {
        expect(explained.get(name)?.map(({ args }) => args.command)).toEqual(
          expect.arrayContaining([...examples]),
        );
      }
    },
  );

  it("has each reason in the manual, and no other", () => {
    const section =
      read("../../docs/policy.md").split("## Comparison with Gemini CLI")[1] ??
      "";
    const reasons = [...section.matchAll(/^- \*\*(.+?)\*\*/gm)].map(
      ([, name]) => name,
    );
    expect(reasons.sort()).toEqual(DIFFERENCES.map(({ name }) => name).sort());
  });
});

function cases(): Case[] {
  const commands = [...Object.values(BYPASSES).flat(), ...ORDINARY].map(
    (command) => shell(command),
  );
  const files = ["a.txt", "src/a.ts", ".git/config", ".vscode/tasks.json"];
  const calls = [
    ...commands,
    ...files.map((file_path) => ({ tool: "read_file", args: { file_path } })),
    ...files.map((file_path) => ({
      tool: "write_file",
      args: { file_path, content: "x" },
    })),
    { tool: "write_file", args: { file_path: "a.txt", content: "secret" } },
    { tool: "web_fetch", args: { prompt: "http://a.example" } },
    { tool: "mcp_notes_add", args: {}, server: "notes" },
    { tool: "mcp_mail_send", args: {}, server: "mail" },
  ];
  const modes = ["default", "auto_edit", "plan", "yolo"] as const;
  return modes.flatMap((mode) => calls.map((call) => ({ ...call, mode })));
}

function shell(command: string): {
  readonly tool: string;
  readonly args: JsonObject;
} {
  return { tool: "run_shell_command", args: { command } };
}

async function answers(asked: readonly Case[]): Promise<Answered[]> {
  const [ours, theirs] = [await ourAnswers(asked), await theirAnswers(asked)];
  return asked.map((one, index) => ({
    ...one,
    ours: ours[index] ?? "",
    theirs: theirs[index] ?? "",
  }));
}

async function ourAnswers(asked: readonly Case[]): Promise<string[]> {
  const rules = parsePolicyFile(OURS, { tier: "user", file: "user.toml" });
  const options = {
    workspace: "/w",
    shellConfinement: "sandbox" as const,
    rules,
    analyze: createShellAnalyzer(),
  };
  const engines = new Map(
    MODES.map(([name, mode]) => [
      name,
      createPolicyEngine({ ...options, mode }),
    ]),
  );
  const said: string[] = [];
  for (const one of asked) {
    const decision = await engines
      .get(one.mode)
      ?.decide(requestOf(one), AbortSignal.timeout(60_000));
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
    const [rules, questions, said] = [
      "user.toml",
      "questions.json",
      "answers.json",
    ].map((name) => join(directory, name));
    if (rules === undefined || questions === undefined || said === undefined) {
      return [];
    }
    await writeFile(rules, THEIRS);
    const theirModes = asked.map((one) => ({
      ...one,
      mode: one.mode === "auto_edit" ? "autoEdit" : one.mode,
    }));
    await writeFile(
      questions,
      JSON.stringify({ rules, questions: theirModes }),
    );
    const script = fileURLToPath(
      new URL("gemini-cli-policy/oracle.ts", import.meta.url),
    );
    await promisify(execFile)(
      process.execPath,
      [script, CORE, questions, said],
      { maxBuffer: 1 << 28 },
    );
    return JSON.parse(await readFile(said, "utf8"));
  } finally {
    await rm(directory, { recursive: true });
  }
}

function requestOf({ tool, args, server }: Case): PolicyRequest {
  const call = create(ToolCallSchema, {
    toolName: tool,
    inputParameters: args,
  });
  const facts = server === undefined ? undefined : { mcpServer: server };
  return {
    call,
    facts,
    details: detailsOf(tool, args, server),
    task: create(TaskSchema),
  };
}

function detailsOf(
  tool: string,
  args: JsonObject,
  server: string | undefined,
): PolicyRequest["details"] {
  const [command, filePath] = [
    String(args.command ?? ""),
    String(args.file_path ?? ""),
  ];
  if (isShell(tool)) {
    return {
      case: "executeDetails",
      value: create(ExecuteDetailsSchema, { command }),
    };
  }
  if (tool === "write_file") {
    return {
      case: "fileEditDetails",
      value: create(FileDiffSchema, { filePath }),
    };
  }
  if (server !== undefined) {
    return {
      case: "mcpDetails",
      value: create(McpDetailsSchema, { serverName: server }),
    };
  }
  return tool === "read_file"
    ? undefined
    : { case: "genericDetails", value: create(GenericDetailsSchema) };
}

function isShell(tool: string): boolean {
  return tool === "run_shell_command";
}

function writesGuardedPath({ file_path, command }: JsonObject): boolean {
  const target =
    typeof command === "string" ? /> (\S+)$/.exec(command)?.[1] : file_path;
  return isGuardedPath(String(target ?? ""));
}

function isOrdinary({ command }: JsonObject): boolean {
  return typeof command === "string" && ORDINARY.includes(command);
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), "utf8");
}
