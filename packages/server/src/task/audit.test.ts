import { create, type JsonValue } from "@bufbuild/protobuf";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import { emptyTask, TaskEventSchema, ToolCallStage } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { auditRecords, createdRecords } from "./audit.ts";

/** Returns what the record says of a task that claims a chain. */
function recorded(chain: JsonValue): unknown {
  const message = { metadata: { [CALL_CHAIN_URI]: chain } };
  const payload = { case: "created", value: { message } } as const;
  const [record] = createdRecords([create(TaskEventSchema, { payload })]);
  const { created: _created, ...said } = JSON.parse(record?.shown ?? "{}");
  return said;
}

describe("the record of a delegated task", () => {
  it("has a chain as it is within the bounds", () => {
    const chain = {
      parentTaskId: "t",
      parentToolCallId: "c",
      agents: Array.from({ length: 64 }, (_, index) => `${index}`),
      calledAs: "x".repeat(1024),
    };
    expect(recorded(chain)).toEqual({ chain });
    expect(recorded({})).toEqual({ chain: {} });
  });

  it.each([
    [{ agents: Array<string>(65).fill("a") }, { agents: Array(64).fill("a") }],
    [{ agents: ["x".repeat(5000)] }, { agents: ["x".repeat(1024)] }],
    [{ agents: ["a", { b: "c" }] }, { agents: ["a", ""] }],
    [{ agents: "a" }, {}],
    [{ calledAs: "x".repeat(1025) }, { calledAs: "x".repeat(1024) }],
    [{ more: "x".repeat(1_000_000) }, {}],
  ])(
    "keeps the bounds, says so, and still names the task above: %#",
    (claimed, kept) => {
      const parentTaskId = "t";
      expect(recorded({ parentTaskId, ...claimed })).toEqual({
        chain: { parentTaskId, ...kept },
        chainCut: true,
      });
    },
  );

  it("has no chain of one that is not an object", () => {
    expect(recorded("x")).toEqual({ chain: {}, chainCut: true });
  });
});

it("names the task of another agent by an id of at most 256 characters", () => {
  const idFor = (taskId: string) => {
    const event = create(TaskEventSchema, {
      payload: { case: "toolCall", value: { toolCallId: "c" } },
      toolCallDetail: {
        stage: ToolCallStage.EXECUTING,
        delegation: { agent: "far", taskId },
      },
    });
    return auditRecords(emptyTask(), [event])[0]?.delegation;
  };
  const [agent, taskId] = ["far", "x".repeat(256)];
  expect(idFor(taskId)).toMatchObject({ agent, taskId });
  expect(idFor(`${taskId}x`)).toMatchObject({ agent, taskId: "" });
});
