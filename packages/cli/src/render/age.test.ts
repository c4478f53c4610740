import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { ageOf, messagesOf } from "./age.ts";

const NOW = Date.UTC(2026, 0, 1);

describe("U11: an age", () => {
  it.each([
    [-5, "now"],
    [59, "now"],
    [60, "1m ago"],
    [3 * 3600 + 59, "3h ago"],
    [40 * 3600, "1d ago"],
    [45 * 86_400, "1mo ago"],
    [800 * 86_400, "2y ago"],
  ])("of %s seconds is %s", (seconds, age) => {
    expect(ageOf(timestampFromMs(NOW - seconds * 1000), NOW)).toBe(age);
  });

  it("is beside a number of messages, which is empty for a server that does not count", () => {
    expect([0, 1, 12].map(messagesOf)).toEqual([
      "",
      "1 message",
      "12 messages",
    ]);
  });

  it("is empty for a time that is not known", () => {
    expect(ageOf(undefined, NOW)).toBe("");
  });
});
