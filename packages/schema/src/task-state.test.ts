import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  type ToolCallSchema,
  ToolCallStatus,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { TaskEventSchema } from "./gen/devtool/v1alpha/task_event_pb.ts";
import {
  Role,
  type Task,
  TaskSchema,
  TaskState,
} from "./gen/devtool/v1alpha/task_pb.ts";
import {
  deriveState,
  endsExchange,
  isAtRest,
  isInterrupted,
  isTerminal,
} from "./task-state.ts";

const {
  SUBMITTED,
  WORKING,
  COMPLETED,
  FAILED,
  CANCELED,
  INPUT_REQUIRED,
  REJECTED,
  AUTH_REQUIRED,
} = TaskState;
const STATES = [
  SUBMITTED,
  WORKING,
  COMPLETED,
  FAILED,
  CANCELED,
  INPUT_REQUIRED,
  REJECTED,
  AUTH_REQUIRED,
];
const asking = { status: ToolCallStatus.PENDING, confirmationRequest: {} };
const answered = { status: ToolCallStatus.PENDING };
const executing = { status: ToolCallStatus.EXECUTING };
const done = { status: ToolCallStatus.SUCCEEDED };

function taskWith(...calls: MessageInitShape<typeof ToolCallSchema>[]): Task {
  const parts = calls.map((value) => ({
    content: { case: "toolCall" as const, value },
  }));
  return create(TaskSchema, { history: [{ role: Role.AGENT, parts }] });
}

describe("the states of a task", () => {
  it("are terminal, interrupted or neither", () => {
    expect(STATES.filter(isTerminal)).toEqual([
      COMPLETED,
      FAILED,
      CANCELED,
      REJECTED,
    ]);
    expect(STATES.filter(isInterrupted)).toEqual([
      INPUT_REQUIRED,
      AUTH_REQUIRED,
    ]);
    expect(STATES.filter((state) => !isAtRest(state))).toEqual([
      SUBMITTED,
      WORKING,
    ]);
  });

  it("end an exchange only by a change of state (STREAM-1)", () => {
    const change = { case: "stateChange" as const, value: {} };
    const text = { case: "text" as const, value: { text: "x" } };
    const ending = STATES.filter((state) =>
      endsExchange(create(TaskEventSchema, { state, payload: change })),
    );
    expect(ending).toEqual([
      COMPLETED,
      FAILED,
      CANCELED,
      INPUT_REQUIRED,
      REJECTED,
      AUTH_REQUIRED,
    ]);
    expect(
      endsExchange(
        create(TaskEventSchema, { state: COMPLETED, payload: text }),
      ),
    ).toBe(false);
  });
});

describe("the state of a working task (TOOL-2)", () => {
  it.each([
    { when: "it has no calls", calls: [], state: WORKING },
    { when: "a call asks", calls: [asking], state: INPUT_REQUIRED },
    {
      when: "a call that ended stands before one that asks",
      calls: [done, asking],
      state: INPUT_REQUIRED,
    },
    {
      when: "an answered call stands before one that asks",
      calls: [answered, asking],
      state: WORKING,
    },
    {
      when: "an answered call stands behind one that asks",
      calls: [asking, answered],
      state: INPUT_REQUIRED,
    },
    {
      when: "a call runs beside one that asks",
      calls: [asking, executing],
      state: WORKING,
    },
    { when: "all calls ended", calls: [done, done], state: WORKING },
  ])("is $state if $when", ({ calls, state }) => {
    expect(deriveState(taskWith(...calls))).toBe(state);
  });
});
