import { describe, expect, it } from "vitest";
import { endsWork } from "./ends-work.ts";

const failure = (code: number, more: object = {}): Error =>
  Object.assign(new Error("over"), { name: "DevtoolError", code, ...more });

describe("endsWork", () => {
  it.each<[string, unknown]>([
    ["a cancellation", failure(1)],
    ["a budget", failure(8, { isOfGoal: false })],
    ["a timeout", new DOMException("", "TimeoutError")],
    ["an abort", AbortSignal.abort().reason],
    ["a deleted task", failure(5)],
  ])("is true after %s", (_what, reason) => {
    expect(endsWork(reason)).toBe(true);
  });

  it.each<[string, unknown]>([
    ["a server that stops", failure(14)],
    ["a full disk", failure(8)],
    ["a store that fails with an error of its own", new TypeError("no")],
  ])("is false after %s", (_what, reason) => {
    expect(endsWork(reason)).toBe(false);
  });
});
