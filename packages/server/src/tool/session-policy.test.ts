import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  type ConfirmationRequest,
  ExecuteDetailsSchema,
  FileDiffSchema,
  GenericDetailsSchema,
  MessageSchema,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
  Role,
  type Task,
  TaskSchema,
  type ToolCall,
  ToolCallSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { createSessionPolicy } from "./session-policy.ts";

type Details = ConfirmationRequest["details"];

const COMMAND: Details = { case: "executeDetails", value: create(ExecuteDetailsSchema) };
const EDIT: Details = { case: "fileEditDetails", value: create(FileDiffSchema) };
const OTHER: Details = { case: "genericDetails", value: create(GenericDetailsSchema) };
const NEW_TASK = create(TaskSchema);

describe("the policy of a session", () => {
  it("lets run what changes nothing, and asks about the rest", async () => {
    expect(await decide(call("read_file", {}), undefined, NEW_TASK)).toBe("allow");
    for (const details of [COMMAND, EDIT, OTHER]) expect(await decide(call("any", {}), details, NEW_TASK)).toBe("ask");
  });

  it("denies in plan mode what changes something, also what was allowed for good", async () => {
    const granted = call("write_file", { file_path: "a" });
    const task = answered(granted, OPTION_PROCEED_ALWAYS);
    const plan = createSessionPolicy(ApprovalMode.PLAN);
    expect(await decide(granted, EDIT, task, plan)).toBe("deny");
    expect(await decide(call("read_file", {}), undefined, task, plan)).toBe("allow");
  });

  it("asks again about a call like one that was allowed once (TOOL-4)", async () => {
    const granted = call("write_file", { file_path: "a" });
    expect(await decide(granted, EDIT, answered(granted, OPTION_PROCEED_ONCE))).toBe("ask");
  });

  it("proceed_always lets the very same command run, whatever words describe it, and no other (TOOL-4)", async () => {
    const task = answered(call("run_shell_command", { command: "make", description: "Build" }), OPTION_PROCEED_ALWAYS);
    const next = (args: JsonObject) => decide(call("run_shell_command", args), COMMAND, task);
    expect(await next({ command: "make", description: "Build again" })).toBe("allow");
    expect(await next({ command: "make; rm -r ." })).toBe("ask");
    expect(await next({ command: "make", directory: "other" })).toBe("ask");
  });

  it("proceed_always lets every edit of the same tool run, and no other tool's (TOOL-4)", async () => {
    const task = answered(call("write_file", { file_path: "a" }), OPTION_PROCEED_ALWAYS);
    expect(await decide(call("write_file", { file_path: "b" }), EDIT, task)).toBe("allow");
    expect(await decide(call("replace", { file_path: "a" }), EDIT, task)).toBe("ask");
  });

  it("proceed_always_tool lets that tool run with any arguments, but never opens the shell (TOOL-4)", async () => {
    const task = answered(call("deploy", { to: "test" }), OPTION_PROCEED_ALWAYS_TOOL);
    expect(await decide(call("deploy", { to: "elsewhere" }), OTHER, task)).toBe("allow");
    expect(await decide(call("destroy", { to: "test" }), OTHER, task)).toBe("ask");
    const shell = answered(call("run_shell_command", { command: "ls" }), OPTION_PROCEED_ALWAYS_TOOL);
    expect(await decide(call("run_shell_command", { command: "ls" }), COMMAND, shell)).toBe("ask");
  });

  it("takes no answer for a call that the task does not have", async () => {
    const { history } = answered(call("write_file", { file_path: "a" }), OPTION_PROCEED_ALWAYS);
    const task = create(TaskSchema, { history: history.filter(({ role }) => role === Role.USER) });
    expect(await decide(call("write_file", { file_path: "a" }), EDIT, task)).toBe("ask");
  });
});

async function decide(
  call: ToolCall,
  details: Details | undefined,
  task: Task,
  policy = createSessionPolicy(ApprovalMode.DEFAULT),
): Promise<string> {
  const request = { call, facts: undefined, details, task };
  return (await policy.decide(request, AbortSignal.timeout(1_000))).decision;
}

function call(toolName: string, inputParameters: JsonObject): ToolCall {
  return create(ToolCallSchema, { toolCallId: "c1", toolName, inputParameters });
}

/** A task in which the agent made a call and the user chose an option for it. */
function answered(made: ToolCall, selectedOptionId: string): Task {
  const confirmation = { toolCallId: made.toolCallId, selectedOptionId };
  return create(TaskSchema, {
    history: [
      create(MessageSchema, { role: Role.AGENT, parts: [{ content: { case: "toolCall", value: made } }] }),
      create(MessageSchema, { role: Role.USER, parts: [{ content: { case: "confirmation", value: confirmation } }] }),
    ],
  });
}
