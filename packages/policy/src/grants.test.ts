import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  ExecuteDetailsSchema,
  FileDiffSchema,
  McpDetailsSchema,
  MessageSchema,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  Role,
  type Task,
  TaskSchema,
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { parsePolicyFile } from "./parse-policy-file.ts";
import type { PolicyRequest } from "./policy-engine.ts";
import { createPolicyEngine, type PolicyOptions } from "./rule-policy.ts";
import { SavedApprovals } from "./saved-approvals.ts";
import { createShellAnalyzer } from "./shell/shell-analysis.ts";

type Asked = Omit<PolicyRequest, "task">;

const analyze = createShellAnalyzer();
const { signal } = new AbortController();
const ASKING = `
[[rule]]
name = "migrations"
path = "migrations/**"
decision = "ask"
[[rule]]
name = "deletes"
tool = "mcp__notes__delete"
decision = "ask"
`;

describe("an answer covers exactly what was shown", () => {
  const confined = shell({ command: "make" });
  const free = unconfined(confined);
  const background = shell({ command: "make", background: true });
  const elsewhere = mcp("add", {}, "ba");
  const always = OPTION_PROCEED_ALWAYS;
  it.each([
    [
      "a command in a sandbox: covers the same command",
      confined,
      always,
      confined,
      "allow",
    ],
    [
      "a command in a sandbox: does not cover it without one",
      confined,
      always,
      free,
      "ask",
    ],
    [
      "a command without a sandbox: covers the same command",
      free,
      always,
      free,
      "allow",
    ],
    [
      "a command without a sandbox: covers it in one",
      free,
      always,
      confined,
      "allow",
    ],
    [
      "a saved command in a sandbox: does not cover it without one",
      confined,
      OPTION_PROCEED_ALWAYS_AND_SAVE,
      free,
      "ask",
    ],
    [
      "a command: does not cover it in the background",
      confined,
      always,
      background,
      "ask",
    ],
    [
      "a command in the background: does not cover it in the foreground",
      background,
      always,
      confined,
      "ask",
    ],
    [
      "a command: does not cover it in another directory",
      confined,
      always,
      shell({ command: "make", directory: "sub" }),
      "ask",
    ],
    [
      "an edit: covers edits of other files",
      edit("a.txt"),
      always,
      edit("b.txt"),
      "allow",
    ],
    [
      "an edit: does not cover a file that a rule asks about",
      edit("a.txt"),
      always,
      edit("migrations/1.sql"),
      "ask",
    ],
    [
      "an edit that a rule asked about: covers questions of that rule",
      edit("migrations/1.sql"),
      always,
      edit("migrations/2.sql"),
      "allow",
    ],
    [
      "an edit: does not cover a guarded file",
      edit("a.txt"),
      always,
      edit(".mcp.json"),
      "ask",
    ],
    [
      "a guarded file: covers that file",
      edit(".mcp.json"),
      always,
      edit(".mcp.json"),
      "allow",
    ],
    [
      "a guarded file: does not cover another one",
      edit(".mcp.json"),
      always,
      edit(".exrc"),
      "ask",
    ],
    [
      "a tool: covers other arguments",
      mcp("add", { a: 1 }),
      OPTION_PROCEED_ALWAYS_TOOL,
      mcp("add", { a: 2 }),
      "allow",
    ],
    [
      "a tool: does not cover another tool",
      mcp("add"),
      OPTION_PROCEED_ALWAYS_TOOL,
      mcp("list"),
      "ask",
    ],
    [
      "a server: covers its other tools",
      mcp("add"),
      OPTION_PROCEED_ALWAYS_SERVER,
      mcp("list"),
      "allow",
    ],
    [
      "a tool: does not cover another server of that name",
      mcp("add"),
      OPTION_PROCEED_ALWAYS_TOOL,
      elsewhere,
      "ask",
    ],
    [
      "the same call: does not cover another server of that name",
      mcp("add"),
      always,
      elsewhere,
      "ask",
    ],
    [
      "a server: does not cover another server of that name",
      mcp("add"),
      OPTION_PROCEED_ALWAYS_SERVER,
      elsewhere,
      "ask",
    ],
    [
      "a server: does not cover a tool that a rule asks about",
      mcp("add"),
      OPTION_PROCEED_ALWAYS_SERVER,
      mcp("delete"),
      "ask",
    ],
  ])("%s", async (_name, shown, option, next, expected) => {
    const rules = parsePolicyFile(ASKING, { tier: "user", file: "user.toml" });
    expect(
      await decide(next, { rules }, await answered(shown, option, { rules })),
    ).toBe(expected);
  });

  it.each([
    ["a command in a sandbox: covers it there", confined, confined, "allow"],
    [
      "a command in a sandbox: does not cover it without one",
      confined,
      free,
      "ask",
    ],
    ["a command without a sandbox: covers it in one", free, confined, "allow"],
    ["a command without a sandbox: covers it without one", free, free, "allow"],
    [
      "a command: does not cover it in the background",
      confined,
      background,
      "ask",
    ],
    [
      "a tool: covers other arguments",
      mcp("add"),
      mcp("add", { a: 2 }),
      "allow",
    ],
    [
      "a tool: does not cover another server of that name",
      mcp("add"),
      elsewhere,
      "ask",
    ],
  ])("saved, %s", async (_name, shown, next, expected) => {
    const directory = temporaryDirectory();
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await engineFor(shown, { saved }).save?.(
      { ...shown, task: create(TaskSchema) },
      signal,
    );
    const again = await SavedApprovals.open(directory, expect.unreachable);
    expect(await decide(next, { saved: again }, create(TaskSchema))).toBe(
      expected,
    );
  });

  it("does not cover an MCP tool if an earlier version did not log where its server is", async () => {
    const task = await answered(mcp("add"), OPTION_PROCEED_ALWAYS_TOOL, {});
    const [asked] = task.history.flatMap(({ parts }) => parts);
    if (!asked?.toolCallDetail) throw new Error("no call asks");
    expect(asked.toolCallDetail.rule).toBe("mcp:notes:aa:5e");
    const old = {
      ...asked,
      toolCallDetail: { ...asked.toolCallDetail, rule: "mcp:notes:aa" },
    };
    const message = create(MessageSchema, { role: Role.AGENT, parts: [old] });
    expect(await decide(mcp("add"), {}, task)).toBe("allow");
    expect(
      await decide(
        mcp("add"),
        {},
        { ...task, history: [message, ...task.history.slice(1)] },
      ),
    ).toBe("ask");

    const directory = temporaryDirectory();
    const rule =
      'tool = "mcp__notes__add"\nmcp_server = "notes"\ndefinition_hash = "aa"\ndecision = "allow"\n';
    await writeFile(
      join(directory, "saved-approvals.toml"),
      `[[rule]]\n${rule}`,
    );
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    expect((await saved.current()).length).toBe(1);
    expect(await decide(mcp("add"), { saved }, create(TaskSchema))).toBe("ask");
  });

  it("cannot be saved for a command in the background, and says whether it covers a command without a sandbox", async () => {
    const directory = temporaryDirectory();
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    const saves = async (asked: Asked) =>
      (
        await engineFor(asked, { saved }).decide(
          { ...asked, task: create(TaskSchema) },
          signal,
        )
      ).saves;
    expect(await saves(background)).toBeUndefined();
    expect(await saves(confined)).toBe("make");
    expect(await saves(free)).toBe("make also without a sandbox");
  });
});

function shell(args: { readonly command: string } & JsonObject): Asked {
  const { command } = args;
  const value = create(ExecuteDetailsSchema, { command });
  return {
    call: call("run_shell_command", args),
    facts: undefined,
    details: { case: "executeDetails", value },
  };
}

function unconfined(asked: Asked): Asked {
  return { ...asked, confinement: "none" };
}

function edit(filePath: string): Asked {
  const value = create(FileDiffSchema, { filePath });
  return {
    call: call("write_file", { file_path: filePath }),
    facts: undefined,
    details: { case: "fileEditDetails", value },
  };
}

function mcp(tool: string, args: JsonObject = {}, mcpServerHash = "5e"): Asked {
  const value = create(McpDetailsSchema, {
    serverName: "notes",
    toolName: tool,
  });
  return {
    call: call(`mcp__notes__${tool}`, args),
    facts: { mcpServer: "notes", mcpServerHash, definitionHash: "aa" },
    details: { case: "mcpDetails", value },
  };
}

function call(
  toolName: string,
  inputParameters: JsonObject,
): PolicyRequest["call"] {
  return create(ToolCallSchema, {
    toolCallId: "c1",
    toolName,
    inputParameters,
    status: ToolCallStatus.SUCCEEDED,
  });
}

function engineFor({ confinement }: Asked, options: Partial<PolicyOptions>) {
  const shellConfinement = confinement ?? "sandbox";
  return createPolicyEngine({
    mode: ApprovalMode.DEFAULT,
    workspace: "/w",
    shellConfinement,
    analyze,
    ...options,
  });
}

async function decide(
  next: Asked,
  options: Partial<PolicyOptions>,
  task: Task,
): Promise<string> {
  return (await engineFor(next, options).decide({ ...next, task }, signal))
    .decision;
}

/**
 * A task in which a call asked, as the policy decided, and its user chose an
 * option.
 */
async function answered(
  shown: Asked,
  selectedOptionId: string,
  options: Partial<PolicyOptions>,
): Promise<Task> {
  const { rule } = await engineFor(shown, options).decide(
    { ...shown, task: create(TaskSchema) },
    signal,
  );
  const toolCallDetail = create(ToolCallDetailSchema, {
    rule,
    withoutSandbox: shown.confinement === "none",
  });
  const part = {
    content: { case: "toolCall" as const, value: shown.call },
    toolCallDetail,
  };
  const confirmation = {
    case: "confirmation" as const,
    value: { toolCallId: "c1", selectedOptionId },
  };
  return create(TaskSchema, {
    history: [
      create(MessageSchema, { role: Role.AGENT, parts: [part] }),
      create(MessageSchema, {
        role: Role.USER,
        parts: [{ content: confirmation }],
      }),
    ],
  });
}
