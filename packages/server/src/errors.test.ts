import { describe, expect, it } from "vitest";
import { Code, DevtoolError, invalid, withFieldNames } from "./errors.ts";

describe("DevtoolError", () => {
  it("says its problem and what helps in one message, and carries them apart", () => {
    const error = new DevtoolError("the disk is full", Code.ResourceExhausted, { remedy: "free some space" });
    expect(error).toMatchObject({
      message: "the disk is full: free some space",
      problem: "the disk is full",
      remedy: "free some space",
    });
  });

  it("says the problem alone where nothing is known to help", () => {
    expect(new DevtoolError("it broke", Code.Internal)).toMatchObject({ message: "it broke", remedy: "" });
  });

  it("keeps what helps when its field gets the name that the request has for it", () => {
    const error = invalid("task_id", "t", "does not exist", "name another");
    expect(withFieldNames(error, { task_id: "id" })).toMatchObject({
      message: 'id "t" does not exist: name another',
      problem: 'id "t" does not exist',
      remedy: "name another",
      details: { field: "id", value: "t" },
    });
  });
});
