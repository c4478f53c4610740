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
  it("lets run what changes nothing, and asks about the rest", () => {
    expect(decide(call("read_file", {}), undefined, NEW_TASK)).toBe("allow");
    for (const details of [COMMAND, EDIT, OTHER]) expect(decide(call("any", {}), details, NEW_TASK)).toBe("ask");
  });

  it("denies in plan mode what changes something, also what was allowed for good", () => {
    const granted = call("write_file", { file_path: "a" });
    const task = answered(granted, OPTION_PROCEED_ALWAYS);
    const plan = createSessionPolicy(ApprovalMode.PLAN);
    expect(plan.decide({ call: granted, details: EDIT, task })).toBe("deny");
    expect(plan.decide({ call: call("read_file", {}), details: undefined, task })).toBe("allow");
  });

  it("asks again about a call like one that was allowed once (TOOL-4)", () => {
    const granted = call("write_file", { file_path: "a" });
    expect(decide(granted, EDIT, answered(granted, OPTION_PROCEED_ONCE))).toBe("ask");
  });

  it("proceed_always lets the very same command run, whatever words describe it, and no other (TOOL-4)", () => {
    const task = answered(call("run_shell_command", { command: "make", description: "Build" }), OPTION_PROCEED_ALWAYS);
    const next = (args: JsonObject) => decide(call("run_shell_command", args), COMMAND, task);
    expect(next({ command: "make", description: "Build again" })).toBe("allow");
    expect(next({ command: "make; rm -r ." })).toBe("ask");
    expect(next({ command: "make", directory: "other" })).toBe("ask");
  });

  it("proceed_always lets every edit of the same tool run, and no other tool's (TOOL-4)", () => {
    const task = answered(call("write_file", { file_path: "a" }), OPTION_PROCEED_ALWAYS);
    expect(decide(call("write_file", { file_path: "b" }), EDIT, task)).toBe("allow");
    expect(decide(call("replace", { file_path: "a" }), EDIT, task)).toBe("ask");
  });

  it("proceed_always_tool lets that tool run with any arguments, but never opens the shell (TOOL-4)", () => {
    const task = answered(call("deploy", { to: "test" }), OPTION_PROCEED_ALWAYS_TOOL);
    expect(decide(call("deploy", { to: "elsewhere" }), OTHER, task)).toBe("allow");
    expect(decide(call("destroy", { to: "test" }), OTHER, task)).toBe("ask");
    const shell = answered(call("run_shell_command", { command: "ls" }), OPTION_PROCEED_ALWAYS_TOOL);
    expect(decide(call("run_shell_command", { command: "ls" }), COMMAND, shell)).toBe("ask");
  });

  it("takes no answer for a call that the task does not have", () => {
    const { history } = answered(call("write_file", { file_path: "a" }), OPTION_PROCEED_ALWAYS);
    const task = create(TaskSchema, { history: history.filter(({ role }) => role === Role.USER) });
    expect(decide(call("write_file", { file_path: "a" }), EDIT, task)).toBe("ask");
  });
});

function decide(next: ToolCall, details: Details | undefined, task: Task): string {
  return createSessionPolicy(ApprovalMode.DEFAULT).decide({ call: next, details, task });
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
