import { ErrorContextSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code, DevtoolError, invalid } from "../../errors.ts";
import { connectErrorFrom } from "./errors.ts";

describe("an error over Connect and gRPC", () => {
  it("names the field, its value and the remedy in a detail", () => {
    const error = connectErrorFrom(
      invalid("page_size", "-1", "is too small", "choose 1 to 100"),
    );
    expect(error.rawMessage).toBe(
      'page_size "-1" is too small: choose 1 to 100',
    );
    expect(error.findDetails(ErrorContextSchema)).toMatchObject([
      { field: "page_size", value: "-1", remedy: "choose 1 to 100" },
    ]);
  });

  it("names the remedy also when it is about no field", () => {
    const error = new DevtoolError("the disk is full", Code.ResourceExhausted, {
      remedy: "free some space",
    });
    expect(
      connectErrorFrom(error).findDetails(ErrorContextSchema),
    ).toMatchObject([{ field: "", value: "", remedy: "free some space" }]);
  });

  it("has no detail without field and remedy", () => {
    expect(
      connectErrorFrom(new DevtoolError("it broke", Code.Internal)).details,
    ).toEqual([]);
  });
});
