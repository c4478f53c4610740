import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  Role,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import {
  assertNoCallLoop,
  DEFAULT_LOOP_LIMITS as LIMITS,
  TextLoopGuard,
} from "./loop-guard.ts";

describe("TextLoopGuard", () => {
  const read = (pieces: readonly string[]) => () => {
    const guard = new TextLoopGuard();
    for (const piece of pieces) guard.add(piece);
  };

  it("rejects text that repeats itself, however it is cut into pieces", () => {
    const text = "I will now look at the file. ".repeat(400);
    const pieces = text.match(/.{1,61}/gs) ?? [];
    expect(read(pieces)).toThrow("says the same again and again");
    expect(read(["prologue. ".repeat(3), ...pieces])).toThrow();
  });

  it("accepts text that makes progress", () => {
    expect(
      read(
        Array.from(
          { length: 3000 },
          (_, index) => `chunk ${index} abcdefghij `,
        ),
      ),
    ).not.toThrow();
    expect(read(["-".repeat(3000)])).not.toThrow();
  });
});

describe("assertNoCallLoop", () => {
  const call = { name: "read_file", args: { file_path: "a.txt" } };
  const steps = (
    count: number,
    output: (index: number) => string,
  ): Message[] => [
    userMessage("go"),
    ...Array.from({ length: count }, (_, index) =>
      step("a.txt", output(index)),
    ),
  ];

  it("rejects the fifth step with the same calls and the same results", () => {
    expect(() =>
      assertNoCallLoop(
        steps(3, () => "same"),
        [call],
        LIMITS,
      ),
    ).not.toThrow();
    expect(() =>
      assertNoCallLoop(
        steps(4, () => "same"),
        [call],
        LIMITS,
      ),
    ).toThrow("calls read_file in the same way");
  });

  it("accepts the same calls with other results up to the higher limit", () => {
    const growing = (index: number): string => `line ${index}`;
    expect(() =>
      assertNoCallLoop(steps(23, growing), [call], LIMITS),
    ).not.toThrow();
    expect(() =>
      assertNoCallLoop(steps(24, growing), [call], LIMITS),
    ).toThrow();
  });

  it("starts counting again after another call or a new prompt", () => {
    const [prompt, ...same] = steps(4, () => "same");
    expect(() =>
      assertNoCallLoop(
        [...(prompt ? [prompt] : []), ...same, step("b.txt", "x")],
        [call],
        LIMITS,
      ),
    ).not.toThrow();
    expect(() =>
      assertNoCallLoop([...same, userMessage("again")], [call], LIMITS),
    ).not.toThrow();
  });

  it("counts the calls of one step once", () => {
    expect(() =>
      assertNoCallLoop(
        [userMessage("go")],
        Array.from({ length: 10 }, () => call),
        LIMITS,
      ),
    ).not.toThrow();
  });
});

function userMessage(text: string): Message {
  return create(MessageSchema, {
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
  });
}

function step(path: string, output: string): Message {
  const content = {
    case: "toolCall" as const,
    value: {
      toolName: "read_file",
      inputParameters: { file_path: path },
      status: ToolCallStatus.SUCCEEDED,
      result: {
        case: "output" as const,
        value: { result: { case: "text" as const, value: output } },
      },
    },
  };
  return create(MessageSchema, { role: Role.AGENT, parts: [{ content }] });
}
