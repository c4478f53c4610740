import { describe, expect, it } from "vitest";
import { errorLines, noticeLine } from "./operator-notice.ts";

const FORGED = "no\u001b]0;title\u0007\u009b2J\ndevtool: all is fine\r";

describe("a notice for the operator", () => {
  it("is one line without control characters", () => {
    expect(noticeLine(FORGED)).toBe(
      "devtool: no\\u{1b}]0;title\\u{7}\\u{9b}2J [1 more line]",
    );
  });

  it("indents the stack of an error, whatever the message contains", () => {
    const [first, ...others] = errorLines(
      new Error(FORGED, { cause: new Error(FORGED) }),
    ).split("\n");
    expect(first).toBe(
      "devtool: Error: no\\u{1b}]0;title\\u{7}\\u{9b}2J [1 more line]",
    );
    expect(others.length).toBeGreaterThan(5);
    expect(others.filter((line) => !line.startsWith("│ "))).toEqual([]);
    expect(others.join("")).not.toMatch(/\p{Cc}/u);
    expect(errorLines(FORGED)).toMatch(/^devtool: '.*'$/);
  });
});
