import { describe, expect, it } from "vitest";
import { settledText } from "./settled-text.ts";

describe("the settled beginning of a growing Markdown text", () => {
  it.each([
    ["nothing of one block", "one two", ""],
    ["all blocks but the last", "one\n\ntwo\n\nthr", "one\n\n"],
    ["nothing of code that is not closed", "```\none\n\ntwo\n", ""],
    ["no list that may go on", "1. one\n\n2", ""],
    ["a list that cannot go on", "1. one\n\nText.\n\nmore", "1. one\n\n"],
    ["no paragraph that may become a table", "| a | b |\n|--", ""],
  ])("is %s", (_, text, settled) => {
    expect(text.slice(0, settledText(text).length)).toBe(settled);
  });

  it("never changes with more text", () => {
    const whole =
      "# A\n\none\ntwo\n\n- a\n\n- b\n\n  c\n\n```\nx\n\ny\n```\n\n| a |\n|---|\n| b |\n\n1. x\n\n2. y\n\nend\n";
    let settled = 0;
    for (let length = 1; length <= whole.length; length++) {
      const now = settledText(whole.slice(0, length)).length;
      expect(now).toBeGreaterThanOrEqual(settled);
      settled = now;
    }
    expect(whole.slice(settled)).toBe("end\n");
  });
});
