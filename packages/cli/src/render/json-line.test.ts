import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { writeJsonText } from "./json-line.ts";

describe("JSON at a terminal", () => {
  it("reads the same, and has nothing that changes a terminal or hides", () => {
    const said = { text: "a\u009b2Jb\u202ec\u{e0041}d\u007f\u200be" };
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    writeJsonText(terminal, JSON.stringify(said));
    const json = String(terminal.read());
    expect(json).toBe(
      `${String.raw`{"text":"a\u009b2Jb\u202ec\udb40\udc41d\u007f\u200be"}`}\n`,
    );
    expect(JSON.parse(json)).toEqual(said);
  });
});
