import { describe, expect, it } from "vitest";
import { Code, DevtoolError, invalid, withFieldNames } from "./errors.ts";

describe("DevtoolError", () => {
  it("has problem and remedy in one message, and as separate properties", () => {
    const error = new DevtoolError("the disk is full", Code.ResourceExhausted, {
      remedy: "free some space",
    });
    expect(error).toMatchObject({
      message: "the disk is full: free some space",
      problem: "the disk is full",
      remedy: "free some space",
    });
  });

  it("has the problem alone as its message without a remedy", () => {
    expect(new DevtoolError("it broke", Code.Internal)).toMatchObject({
      message: "it broke",
      remedy: "",
    });
  });

  it("is one of another copy of the module too, which no subclass is", async () => {
    const copy = "./errors.ts?copy";
    const { DevtoolError: Other }: { DevtoolError: typeof DevtoolError } =
      await import(copy);
    const error = new Other("it broke", Code.Aborted);
    expect(Other).not.toBe(DevtoolError);
    expect(error instanceof DevtoolError).toBe(true);
    expect(DevtoolError.from(error)).toBe(error);
    expect(error instanceof class extends DevtoolError {}).toBe(false);
    expect(new Error("DevtoolError") instanceof DevtoolError).toBe(false);
  });

  it("keeps the remedy when its field is renamed", () => {
    const error = invalid("task_id", "t", "does not exist", "name another");
    expect(withFieldNames(error, { task_id: "id" })).toMatchObject({
      message: 'id "t" does not exist: name another',
      problem: 'id "t" does not exist',
      remedy: "name another",
      details: { field: "id", value: "t" },
    });
  });
});
