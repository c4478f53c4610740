import { describe, expect, it } from "vitest";
import { programVariables } from "./program-variables.ts";

describe("the variables of a confined program", () => {
  it("cannot be taken for arguments of the sandbox", () => {
    for (const [name, value] of [
      ["A", "b\0--bind\0/\0/"],
      ["A\0--bind\0/\0/", ""],
      ["A=B", ""],
      ["", ""],
    ] as const) {
      expect(() => programVariables({ [name]: value })).toThrow(
        `environment variable ${JSON.stringify(name)} is not valid`,
      );
    }
  });
});
