import { describe, expect, it } from "vitest";
import { ToolNames } from "./tool-names.ts";

describe("the names of tools in an API", () => {
  const tool = (name: string) => ({ name, description: "", parameters: {} });

  it("have no other characters than the API allows, and are found again", () => {
    const names = new ToolNames([tool("a.b"), tool("a/b"), tool("c")], 64);
    expect(["a.b", "a/b", "c"].map((name) => names.encode(name))).toEqual([
      "a_b",
      "a_b_2",
      "c",
    ]);
    expect(
      ["a_b", "a_b_2", "c", "unknown"].map((name) => names.decode(name)),
    ).toEqual(["a.b", "a/b", "c", "unknown"]);
  });

  it("are cut, also where two begin alike", () => {
    const names = new ToolNames([tool("long-name-1"), tool("long-name-2")], 9);
    expect(names.encode("long-name-1")).toBe("long-name");
    expect(names.encode("long-name-2")).toBe("long-_2");
    expect(names.encode("another-one")).toBe("another-o");
  });
});
