import { describe, expect, it } from "vitest";
import { nearest } from "./nearest.ts";

describe("nearest", () => {
  it.each([
    ["abuot", ["about", "init"], "about"],
    ["hepl", ["help"], "help"],
    ["memory lst", ["memory list", "mcp list"], "memory list"],
    ["20260101-1", ["20260101-12", "20260102-7"], "20260101-12"],
  ])("to %s of %j is %s", (name, candidates, near) => {
    expect(nearest(name, candidates)).toBe(near);
  });

  it.each([
    ["nosuch", ["4"]],
    ["5", ["4"]],
    ["xyzzy", ["help", "about", "init"]],
    ["anything", []],
  ])("is none for %s of %j, which are not close", (name, candidates) => {
    expect(nearest(name, candidates)).toBe("");
  });
});
