import { create } from "@bufbuild/protobuf";
import {
  confirmationsOf,
  MessageSchema,
  Role,
  type Task,
  TaskSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { withOfferedOutcomes } from "./outcomes.ts";

/** Returns a task with a pending call that offers these options. */
function asking(...options: readonly string[]): Task {
  const confirmationRequest = {
    options: options.map((id) => ({ id, name: id })),
  };
  const value = {
    toolCallId: "call",
    toolName: "web_fetch",
    status: ToolCallStatus.PENDING,
    confirmationRequest,
  };
  return create(TaskSchema, {
    history: [
      { role: Role.AGENT, parts: [{ content: { case: "toolCall", value } }] },
    ],
  });
}

function chosen(outcome: string, task: Task): string | undefined {
  const value = { toolCallId: "call", selectedOptionId: outcome };
  const message = create(MessageSchema, {
    role: Role.USER,
    parts: [{ content: { case: "confirmation", value } }],
  });
  return confirmationsOf(withOfferedOutcomes(message, task))[0]
    ?.selectedOptionId;
}

describe("an outcome of the dialect", () => {
  it("becomes proceed_always_tool where only that is offered", () => {
    expect(
      chosen("proceed_always", asking("proceed_once", "proceed_always_tool")),
    ).toBe("proceed_always_tool");
  });

  it("stays what it is where it is offered", () => {
    expect(
      chosen("proceed_always", asking("proceed_always", "proceed_always_tool")),
    ).toBe("proceed_always");
  });

  it("is never widened: to a server, to every call, or from a single one", () => {
    expect(
      chosen("proceed_always", asking("proceed_once", "proceed_always_server")),
    ).toBe("proceed_always");
    expect(
      chosen("proceed_once", asking("proceed_always", "proceed_always_tool")),
    ).toBe("proceed_once");
  });

  it("is read as it was the first time when its message comes again (STREAM-7)", () => {
    const value = {
      toolCallId: "call",
      selectedOptionId: "proceed_always_tool",
    };
    const answered = create(MessageSchema, {
      role: Role.USER,
      parts: [{ content: { case: "confirmation", value } }],
    });
    expect(
      chosen("proceed_always", create(TaskSchema, { history: [answered] })),
    ).toBe("proceed_always_tool");
  });

  it("stays what it is for a call that does not exist", () => {
    expect(chosen("proceed_always", create(TaskSchema))).toBe("proceed_always");
  });
});
