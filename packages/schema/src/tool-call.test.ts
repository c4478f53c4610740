import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  type ToolCallConfirmation,
  ToolCallConfirmationSchema,
} from "./gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import {
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { Role, type Task, TaskSchema } from "./gen/devtool/v1alpha/task_pb.ts";
import {
  answeredToolCall,
  answerText,
  findConfirmation,
  findToolCall,
  isAwaitingApproval,
  isEnded,
  isStatusMove,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  openToolCalls,
} from "./tool-call.ts";

const { PENDING, EXECUTING, SUCCEEDED, FAILED, CANCELLED } = ToolCallStatus;
const STATUSES = [PENDING, EXECUTING, SUCCEEDED, FAILED, CANCELLED];

function callOf(toolCallId: string, status: ToolCallStatus): ToolCall {
  return create(ToolCallSchema, { toolCallId, status });
}

function asking(toolCallId: string): ToolCall {
  return create(ToolCallSchema, {
    toolCallId,
    status: PENDING,
    confirmationRequest: {},
  });
}

function taskOf(...steps: ToolCall[][]): Task {
  const history = steps.map((calls) => ({
    role: Role.AGENT,
    parts: calls.map((value) => ({
      content: { case: "toolCall" as const, value },
    })),
  }));
  return create(TaskSchema, { history });
}

function answerOf(
  toolCallId: string,
  selectedOptionId: string,
): ToolCallConfirmation {
  return create(ToolCallConfirmationSchema, { toolCallId, selectedOptionId });
}

describe("the status of a tool call (TOOL-1)", () => {
  it.each([
    { from: PENDING, to: [PENDING, EXECUTING, FAILED, CANCELLED] },
    { from: EXECUTING, to: [EXECUTING, SUCCEEDED, FAILED, CANCELLED] },
    { from: SUCCEEDED, to: [] },
    { from: FAILED, to: [] },
    { from: CANCELLED, to: [] },
  ])("moves from $from to $to only", ({ from, to }) => {
    expect(STATUSES.filter((status) => isStatusMove(from, status))).toEqual(to);
  });

  it("has ended once the call succeeded, failed or was canceled", () => {
    expect(STATUSES.filter((status) => isEnded(callOf("c", status)))).toEqual([
      SUCCEEDED,
      FAILED,
      CANCELLED,
    ]);
  });
});

describe("a call with a confirmation request (TOOL-2)", () => {
  it("awaits approval only while it is pending", () => {
    expect(isAwaitingApproval(asking("c"))).toBe(true);
    expect(isAwaitingApproval({ ...asking("c"), status: EXECUTING })).toBe(
      false,
    );
    expect(isAwaitingApproval(callOf("c", PENDING))).toBe(false);
  });

  it("no longer asks after it was answered, and stays pending", () => {
    const answered = answeredToolCall(
      asking("c"),
      answerOf("c", OPTION_PROCEED_ONCE),
    );
    expect(answered.status).toBe(PENDING);
    expect(answered.confirmationRequest).toBeUndefined();
  });

  it("is canceled by the answer that declines it", () => {
    expect(
      answeredToolCall(asking("c"), answerOf("c", OPTION_CANCEL)).status,
    ).toBe(CANCELLED);
  });

  it("is copied, not changed, by an answer", () => {
    const call = asking("c");
    answeredToolCall(call, answerOf("c", OPTION_CANCEL));
    expect(isAwaitingApproval(call)).toBe(true);
  });
});

describe("the calls of a task", () => {
  it("are open in the agent's last step, in order, until they end", () => {
    const task = taskOf(
      [callOf("old", SUCCEEDED)],
      [callOf("b", EXECUTING), callOf("x", FAILED), asking("a")],
    );
    expect(openToolCalls(task).map(({ toolCallId }) => toolCallId)).toEqual([
      "b",
      "a",
    ]);
    expect(openToolCalls(taskOf())).toEqual([]);
  });

  it("stay open while questions that they ask come after a user's message", () => {
    const part = (value: ToolCall, parentToolCallId = "") => ({
      content: { case: "toolCall" as const, value },
      toolCallDetail: { parentToolCallId },
    });
    const history = [
      { role: Role.AGENT, parts: [part(callOf("old", EXECUTING))] },
      {
        role: Role.AGENT,
        parts: [part(callOf("a", EXECUTING)), part(asking("b"))],
      },
      { role: Role.USER, parts: [] },
      { role: Role.AGENT, parts: [part(callOf("p", SUCCEEDED), "a")] },
      { role: Role.AGENT, parts: [part(asking("q"), "a")] },
    ];
    const open = openToolCalls(create(TaskSchema, { history }));
    expect(open.map(({ toolCallId }) => toolCallId)).toEqual(["a", "b", "q"]);
  });

  it("are found by id, searching from the end", () => {
    const task = taskOf([callOf("a", FAILED)], [callOf("a", EXECUTING)]);
    expect(findToolCall(task, "a")?.status).toBe(EXECUTING);
    expect(findToolCall(task, "b")).toBeUndefined();
  });

  it("have the user's last answer", () => {
    const said = (value: ToolCallConfirmation) => ({
      role: Role.USER,
      parts: [{ content: { case: "confirmation" as const, value } }],
    });
    const answers = [
      said(answerOf("a", OPTION_CANCEL)),
      said(answerOf("a", OPTION_PROCEED_ONCE)),
    ];
    const task = create(TaskSchema, {
      history: [...taskOf([asking("a"), asking("b")]).history, ...answers],
    });
    expect(findConfirmation(task, "a")?.selectedOptionId).toBe(
      OPTION_PROCEED_ONCE,
    );
    expect(findConfirmation(task, "b")).toBeUndefined();
    expect(findConfirmation(task, "c")).toBeUndefined();
  });

  it("have the text of the message that holds the user's last answer", () => {
    const text = (value: string) => ({
      content: { case: "text" as const, value },
    });
    const answer = {
      content: {
        case: "confirmation" as const,
        value: answerOf("a", OPTION_PROCEED_ONCE),
      },
    };
    const history = [
      { role: Role.USER, parts: [answer, text("first")] },
      { role: Role.USER, parts: [text(" one"), answer, text("two ")] },
      { role: Role.USER, parts: [text("later")] },
    ];
    const task = create(TaskSchema, { history });
    expect([answerText(task, "a"), answerText(task, "b")]).toEqual([
      " one\ntwo ",
      "",
    ]);
  });
});
