import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { disorderedCall } from "./call-order.ts";

function update(id: string, status: string): JsonValue {
  return {
    kind: "status-update",
    status: { message: { parts: [{ kind: "data", data: { tool_call_id: id, status } }] } },
  };
}

describe("the order of a call's statuses (TOOL-1)", () => {
  it("is fine for calls that go on side by side, with live output in between", () => {
    const frames = [
      update("a", "PENDING"),
      update("b", "PENDING"),
      update("a", "EXECUTING"),
      update("b", "CANCELLED"),
      update("a", "EXECUTING"),
      update("a", "SUCCEEDED"),
    ];
    expect(disorderedCall(frames)).toBeUndefined();
  });

  it("is broken by a call that goes back", () => {
    const problem = disorderedCall([update("a", "EXECUTING"), update("a", "PENDING")]);
    expect(problem).toBe("call a is EXECUTING: it cannot become PENDING");
  });

  it("is broken by anything after the end", () => {
    const problem = disorderedCall([update("a", "SUCCEEDED"), update("a", "FAILED")]);
    expect(problem).toBe("call a is SUCCEEDED: it cannot become FAILED");
  });

  it("does not look into frames that are no status updates", () => {
    expect(disorderedCall([null, "x", { kind: "task", status: {} }, { kind: "status-update" }])).toBeUndefined();
  });
});
