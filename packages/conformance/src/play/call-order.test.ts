import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { callOrderProblem } from "./call-order.ts";

function update(id: string, status: string): JsonValue {
  return {
    kind: "status-update",
    status: {
      message: {
        parts: [{ kind: "data", data: { tool_call_id: id, status } }],
      },
    },
  };
}

describe("the order of a call's statuses (TOOL-1)", () => {
  it("allows parallel calls with live output in between", () => {
    const frames = [
      update("a", "PENDING"),
      update("b", "PENDING"),
      update("a", "EXECUTING"),
      update("b", "CANCELLED"),
      update("a", "EXECUTING"),
      update("a", "SUCCEEDED"),
    ];
    expect(callOrderProblem(frames)).toBeUndefined();
  });

  it("is broken by a call that moves back", () => {
    const problem = callOrderProblem([
      update("a", "EXECUTING"),
      update("a", "PENDING"),
    ]);
    expect(problem).toBe("call a is EXECUTING: it cannot become PENDING");
  });

  it("is broken by any status after the end", () => {
    const problem = callOrderProblem([
      update("a", "SUCCEEDED"),
      update("a", "FAILED"),
    ]);
    expect(problem).toBe("call a is SUCCEEDED: it cannot become FAILED");
  });

  it("ignores frames that are not status updates", () => {
    expect(
      callOrderProblem([
        null,
        "x",
        { kind: "task", status: {} },
        { kind: "status-update" },
      ]),
    ).toBeUndefined();
  });
});
