import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  emptyTask,
  Role,
  reduceTask,
  type Task,
  TaskEventSchema,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { asksAsBefore } from "./child-question.ts";

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

const { INPUT_REQUIRED, WORKING } = TaskState;
const ARTIFACT: Payload = {
  case: "artifact",
  value: { artifact: { artifactId: "a" } },
};
const TEXT: Payload = { case: "text", value: { text: "More." } };
const THOUGHT: Payload = { case: "thought", value: { subject: "Hm." } };
const STATE: Payload = { case: "stateChange", value: {} };

describe("a task that asks, after another event", () => {
  it.each<[string, boolean, Payload]>([
    ["an artifact", true, ARTIFACT],
    ["a text", true, TEXT],
    ["a change of state", true, STATE],
    ["another call that asks behind it", true, callAsking("other")],
    ["the call with another question", false, callAsking("call", "Really?")],
    ["the end of the call", false, callWith(ToolCallStatus.CANCELLED)],
  ])(
    "by a call asks as before unless the call changes: %s",
    (_, same, payload) => {
      const before = after(emptyTask(), INPUT_REQUIRED, callAsking("call"));
      const now = after(before, WORKING, payload);
      expect(asksAsBefore(before, now)).toBe(same);
    },
  );

  it.each<[string, boolean, TaskState, Payload]>([
    ["an artifact", true, INPUT_REQUIRED, ARTIFACT],
    ["a thought", true, INPUT_REQUIRED, THOUGHT],
    ["a text", false, INPUT_REQUIRED, TEXT],
    ["that it works", false, WORKING, STATE],
    ["that it wants a sign-in", false, TaskState.AUTH_REQUIRED, STATE],
    [
      "a message",
      false,
      INPUT_REQUIRED,
      { case: "message", value: { role: Role.USER } },
    ],
    ["a call that asks", false, INPUT_REQUIRED, callAsking("call")],
  ])(
    "in words asks as before unless its words change: %s",
    (_, same, state, payload) => {
      const said = after(emptyTask(), WORKING, TEXT);
      const before = after(said, INPUT_REQUIRED, STATE);
      const now = after(before, state, payload);
      expect(asksAsBefore(before, now)).toBe(same);
    },
  );
});

function after(task: Task, state: TaskState, payload: Payload): Task {
  const sequence = task.sequence + 1n;
  return reduceTask(
    task,
    create(TaskEventSchema, { taskId: "task", sequence, state, payload }),
  );
}

function callAsking(toolCallId: string, title = ""): Payload {
  const confirmationRequest = {
    details: {
      case: "genericDetails",
      value: { description: title },
    } as const,
  };
  const status = ToolCallStatus.PENDING;
  return {
    case: "toolCall",
    value: { toolCallId, status, confirmationRequest },
  };
}

function callWith(status: ToolCallStatus): Payload {
  return { case: "toolCall", value: { toolCallId: "call", status } };
}
