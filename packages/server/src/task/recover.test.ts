import { create } from "@bufbuild/protobuf";
import {
  ConfirmationRequestSchema,
  MessageSchema,
  PartSchema,
  Role,
  stageOf,
  type Task,
  TaskSchema,
  TaskState,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { recoverTask } from "./recover.ts";

const { PENDING, EXECUTING, SUCCEEDED } = ToolCallStatus;

describe("recoverTask", () => {
  it("leaves a task that waits for its user or has ended unchanged", () => {
    for (const state of [
      TaskState.INPUT_REQUIRED,
      TaskState.COMPLETED,
      TaskState.FAILED,
      TaskState.CANCELED,
    ]) {
      expect(recoverTask(task(state, [asking("a")])).case).toBe("rest");
    }
  });

  it("resumes a task that had not started, and one with approved calls that had not started", () => {
    expect(recoverTask(task(TaskState.SUBMITTED, [])).case).toBe("resume");
    expect(
      recoverTask(
        task(TaskState.WORKING, [call("a", SUCCEEDED), call("b", PENDING)]),
      ).case,
    ).toBe("resume");
  });

  it("reports a call that was executing as interrupted, and never runs it again", () => {
    expect(
      outcome(
        task(TaskState.WORKING, [call("a", EXECUTING), call("b", PENDING)]),
      ),
    ).toEqual({
      interrupted: ["a", "b"],
      state: TaskState.INPUT_REQUIRED,
      says: expect.stringContaining("The server stopped"),
    });
  });

  it("keeps open questions beside a call that was executing", () => {
    expect(
      outcome(task(TaskState.WORKING, [call("a", EXECUTING), asking("b")])),
    ).toEqual({
      interrupted: ["a"],
      state: TaskState.INPUT_REQUIRED,
      says: "",
    });
  });

  it("closes the question of a call that was executing, because nothing waits for the answer any more", () => {
    const step = {
      role: Role.AGENT,
      parts: [
        partOf(call("a", EXECUTING)),
        partOf(asking("q"), "a"),
        partOf(asking("b")),
      ],
    };
    const waiting = create(TaskSchema, {
      id: "t",
      state: TaskState.INPUT_REQUIRED,
      history: [step],
    });
    expect(outcome(waiting)).toEqual({
      interrupted: ["a", "q"],
      state: TaskState.INPUT_REQUIRED,
      says: "",
    });
  });

  it("follows a call that another agent works on, beside one whose outcome is unknown", () => {
    const step = {
      role: Role.AGENT,
      parts: [
        partOf(call("a", EXECUTING)),
        create(PartSchema, {
          ...partOf(call("b", EXECUTING)),
          toolCallDetail: { delegation: { agent: "helper" } },
        }),
        partOf(asking("c")),
      ],
    };
    for (const state of [TaskState.WORKING, TaskState.INPUT_REQUIRED]) {
      const before = create(TaskSchema, { id: "t", state, history: [step] });
      expect(recoverTask(before)).toMatchObject({
        case: "resume",
        entries: [
          {
            payload: {
              value: { toolCallId: "a", status: ToolCallStatus.FAILED },
            },
          },
        ],
      });
    }
  });

  it("has what waits for its user rest, also for an agent that goes on from the log", () => {
    const rests = (continues: boolean | "unasked", ...calls: ToolCall[]) => {
      const waiting = task(TaskState.INPUT_REQUIRED, calls);
      const cause = "outage" as const;
      return recoverTask(waiting, { cause, continues }).case;
    };
    expect(rests(true)).toBe("rest");
    expect(rests("unasked")).toBe("rest");
    expect(rests(true, asking("a"))).toBe("rest");
    // There may be work beside the question.
    expect(rests("unasked", asking("a"))).toBe("resume");
  });

  it("records that the agent was stopped when no call was open", () => {
    expect(outcome(task(TaskState.WORKING, []))).toMatchObject({
      interrupted: [],
      says: expect.stringContaining("Send a message"),
    });
  });
});

function outcome(before: Task): object {
  const recovery = recoverTask(before);
  if (recovery.case !== "interrupt") return recovery;
  const payloads = recovery.entries.map(({ payload }) => payload);
  const last = recovery.entries.at(-1);
  return {
    interrupted: payloads.flatMap((payload) =>
      payload.case === "toolCall" &&
      payload.value.result.case === "error" &&
      payload.value.result.value.type === "interrupted"
        ? [payload.value.toolCallId]
        : [],
    ),
    state: last?.state,
    says:
      last?.payload.case === "stateChange"
        ? last.payload.value.text
        : undefined,
  };
}

function call(toolCallId: string, status: ToolCallStatus): ToolCall {
  return create(ToolCallSchema, { toolCallId, status });
}

function asking(toolCallId: string): ToolCall {
  return {
    ...call(toolCallId, PENDING),
    confirmationRequest: create(ConfirmationRequestSchema),
  };
}

function partOf(value: ToolCall, parentToolCallId = "") {
  return {
    content: { case: "toolCall" as const, value },
    toolCallDetail: { parentToolCallId, stage: stageOf(value) },
  };
}

function task(state: TaskState, calls: readonly ToolCall[]): Task {
  const parts = calls.map((value) => ({
    content: { case: "toolCall" as const, value },
  }));
  const step = create(MessageSchema, { role: Role.AGENT, parts });
  return create(TaskSchema, {
    id: "t",
    state,
    history: calls.length > 0 ? [step] : [],
  });
}
