import { create } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import {
  confirmationsOf,
  type Message,
  Role,
  type Task,
  TaskSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { withPlainAnswer } from "./plain-answer.ts";

describe("an answer in words", () => {
  it.each([
    ["No", ["cancel"], "cancel"],
    ["no", ["reject", "cancel"], "reject"],
    ["reject", ["cancel"], "cancel"],
    ["Decline", ["reject", "cancel"], "reject"],
    ["cancel", ["reject", "cancel"], "cancel"],
    ["yes", ["proceed_once", "cancel"], "proceed_once"],
    ["yes", ["proceed_always", "cancel"], undefined],
    ["proceed_always", ["proceed_always", "cancel"], "proceed_always"],
    ["value:Red", ["value:Red", "cancel"], "value:Red"],
    ["Proceed_Once", ["proceed_once", "cancel"], "proceed_once"],
  ])("C-L1: %j is the answer of %j: %s", (text, ids, chosen) => {
    const task = asking(ids);
    const message = textMessage("m", text);
    const answered = withPlainAnswer(message, task, "plain");
    expect(optionOf(answered)).toBe(chosen);
    const history = [...task.history, answered];
    // A retry is read as the first time, also once the extension is shown.
    for (const view of ["plain", "extension"] as const) {
      const retried = withPlainAnswer(message, { ...task, history }, view);
      expect(optionOf(retried)).toBe(chosen);
    }
  });

  it.each(["yes", "y", "no", "proceed_once"])(
    "N5: %j does not answer for a client that is shown the extension",
    (text) => {
      const task = asking(["proceed_once", "cancel"]);
      const message = textMessage("m", text);
      expect(withPlainAnswer(message, task, "extension")).toBe(message);
    },
  );
});

function optionOf(message: Message): string | undefined {
  return confirmationsOf(message)[0]?.selectedOptionId;
}

/** A task with a call that offers some options. */
function asking(ids: readonly string[]): Task {
  const value = {
    toolCallId: "call-1",
    status: ToolCallStatus.PENDING,
    confirmationRequest: { options: ids.map((id) => ({ id, name: id })) },
  };
  const content = { case: "toolCall" as const, value };
  const history = [{ role: Role.AGENT, parts: [{ content }] }];
  return create(TaskSchema, { history });
}
