import { describe, expect, it } from "vitest";
import { parseInstruction, parseScript } from "./script.ts";

describe("a script", () => {
  it("is prose when its first line is not an instruction", () => {
    expect(parseScript("please fix the bug\ntext hi")).toBeUndefined();
    expect(parseScript("")).toBeUndefined();
  });

  it("ignores later lines that are not instructions", () => {
    expect(parseScript("text a\n# note\n\nsay\ntext b")).toEqual([
      [
        { case: "text", text: "a" },
        { case: "text", text: "b" },
      ],
    ]);
  });

  it("continues after calls in the next turn", () => {
    expect(shapeOf("think\nread a\nread b\ntext done\nrun ls")).toEqual([
      ["think", "call", "call"],
      ["text", "call"],
    ]);
    expect(shapeOf("read a\nnext\nread b")).toEqual([["call"], ["call"]]);
  });

  it("keeps an instruction that ends a turn with its calls, and begins the next turn with a failure", () => {
    expect(shapeOf("read a\nduplicate\ncut\ntext b")).toEqual([
      ["call", "duplicate", "break"],
      ["text"],
    ]);
    expect(shapeOf("read a\nfinish MAX_TOKENS")).toEqual([["call", "finish"]]);
    expect(shapeOf("read a\nfail 503\nread b")).toEqual([
      ["call"],
      ["fail", "call"],
    ]);
    expect(shapeOf("read a\nempty 1\ntext b")).toEqual([
      ["call"],
      ["break", "text"],
    ]);
  });
});

describe("an instruction", () => {
  const forever = Number.POSITIVE_INFINITY;
  it.each([
    ["say 3", { case: "say", count: 3, bytes: 0 }],
    ["SAY 3 80", { case: "say", count: 3, bytes: 80 }],
    ["text a\\nb\\tc", { case: "text", text: "a\nb\tc" }],
    ["repeat 9 la la", { case: "repeat", count: 9, text: "la la" }],
    ["think", { case: "think", count: 1 }],
    ["cite https://a.example/b", { case: "cite", uri: "https://a.example/b" }],
    ["wait 10", { case: "wait", ms: 10 }],
    ["finish max_tokens", { case: "finish", reason: "MAX_TOKENS" }],
    ["fail 503", { case: "fail", code: 503, times: forever }],
    [
      "fail 429 2 after 1.5",
      { case: "fail", code: 429, times: 2, retryAfterMs: 1500 },
    ],
    [
      "fail 429 after 1",
      { case: "fail", code: 429, times: forever, retryAfterMs: 1000 },
    ],
    ["hang", { case: "break", how: "hang", times: forever }],
    ["reset 2", { case: "break", how: "reset", times: 2 }],
    ["drip 5", { case: "drip", ms: 5 }],
    [
      "edit a.txt x => y",
      {
        case: "call",
        calls: [
          {
            name: "replace",
            args: { file_path: "a.txt", old_string: "x", new_string: "y" },
          },
        ],
      },
    ],
    [
      'call t {"a": 1}',
      { case: "call", calls: [{ name: "t", args: { a: 1 } }] },
    ],
  ])("is %j", (line, instruction) => {
    expect(parseInstruction(line)).toEqual(instruction);
  });

  it.each([
    "say",
    "say x",
    "repeat 3",
    "fail 1",
    "fail 503 x",
    "hang x",
    "drip",
    "next x",
    "call t [1]",
    "hugeargs 999999999",
  ])("is not %j", (line) => {
    expect(parseInstruction(line)).toBeUndefined();
  });
});

function shapeOf(prompt: string): string[][] {
  return (parseScript(prompt) ?? []).map((turn) =>
    turn.map(({ case: kind }) => kind),
  );
}
