import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { pendingToolCalls } from "@devtool/client";
import {
  emptyTask,
  reduceTask,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { foldTurn } from "./turn-task.ts";

type Init = MessageInitShape<typeof TaskEventSchema>;

describe("the task of a turn", () => {
  it("has the state, the usage and the open calls of the whole task, after each event", () => {
    const events = logOf([
      { payload: { case: "created", value: { message: { messageId: "m" } } } },
      { payload: { case: "text", value: { text: "One." } } },
      call("a", ToolCallStatus.PENDING, true),
      call("b", ToolCallStatus.EXECUTING),
      { payload: { case: "thought", value: { description: "Hm." } } },
      call("q", ToolCallStatus.PENDING, true, "b"),
      {
        payload: {
          case: "message",
          value: { messageId: "n", parts: [answerTo("a")] },
        },
      },
      call("q", ToolCallStatus.SUCCEEDED),
      call("a", ToolCallStatus.SUCCEEDED),
      call("b", ToolCallStatus.SUCCEEDED),
      { payload: { case: "text", value: { text: "Two." } } },
      { payload: { case: "usage", value: { inputTokens: 3n } } },
      call("c", ToolCallStatus.PENDING, true),
      {
        state: TaskState.INPUT_REQUIRED,
        payload: { case: "stateChange", value: { openCalls: [asking("c")] } },
      },
      {
        state: TaskState.COMPLETED,
        payload: { case: "stateChange", value: { text: "Done." } },
      },
    ]);
    let [turn, whole] = [emptyTask(), emptyTask()];
    for (const event of events) {
      [turn, whole] = [foldTurn(turn, event), reduceTask(whole, event)];
      expect({ ...turn, history: [] }).toEqual({ ...whole, history: [] });
      expect(pendingToolCalls(turn)).toEqual(pendingToolCalls(whole));
    }
  });

  it("stays as small as it was, however much is said and called", () => {
    const inits = Array.from({ length: 2000 }, (_, at): Init[] => [
      { payload: { case: "text", value: { text: "Word. " } } },
      { payload: { case: "thought", value: { description: "Hm." } } },
      {
        payload: {
          case: "artifact",
          value: { artifact: { artifactId: `artifact-${at}` } },
        },
      },
      call(`call-${at}`, ToolCallStatus.EXECUTING),
      call(`call-${at}`, ToolCallStatus.SUCCEEDED),
    ]);
    const task = logOf(inits.flat()).reduce(foldTurn, emptyTask());
    expect([
      task.history.length,
      task.history[0]?.parts.length,
      task.artifacts.length,
    ]).toEqual([1, 1, 0]);
  });
});

const DIGEST = new Uint8Array(32).fill(7);

function logOf(inits: readonly Init[]): TaskEvent[] {
  return inits.map((init, at) =>
    create(TaskEventSchema, {
      taskId: "t",
      contextId: "c",
      state: TaskState.WORKING,
      sequence: BigInt(at + 1),
      ...init,
    }),
  );
}

function asking(toolCallId: string) {
  const confirmationRequest = { options: [{ id: "proceed_once" }] };
  return {
    toolCallId,
    toolName: "run",
    status: ToolCallStatus.PENDING,
    confirmationRequest,
  };
}

function call(
  toolCallId: string,
  status: ToolCallStatus,
  asks?: true,
  parentToolCallId = "",
): Init {
  const value = asks
    ? asking(toolCallId)
    : { toolCallId, toolName: "run", status };
  return {
    payload: { case: "toolCall", value },
    toolCallDetail: { parentToolCallId, digest: DIGEST },
  };
}

function answerTo(toolCallId: string) {
  return {
    content: {
      case: "confirmation",
      value: { toolCallId, selectedOptionId: "proceed_once" },
    },
  } as const;
}
