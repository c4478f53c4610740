import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  Role,
  ToolCallStatus,
} from "@devtool/schema";
import { toolFailure } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import {
  findCallLoop,
  DEFAULT_LOOP_LIMITS as LIMITS,
  TextLoopGuard,
} from "./loop-guard.ts";

describe("TextLoopGuard", () => {
  const read = (pieces: readonly string[]) => () => {
    const guard = new TextLoopGuard();
    for (const piece of pieces) guard.add(piece);
  };

  it("rejects text that repeats itself, however it is cut into pieces", () => {
    const text = "I will now look at the file. ".repeat(2000);
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
    // B4: data with many equal rows.
    expect(
      read(["```csv\n", ...Array(40).fill("1,2,3,4,5,6,7,8\n".repeat(4))]),
    ).not.toThrow();
    expect(read(Array(2000).fill("0, 0, 0, 0, 0,\n"))).not.toThrow();
  });
});

describe("findCallLoop", () => {
  const call = { name: "read_file", args: { file_path: "a.txt" } };
  const WARNING = /^the last steps made the same calls.*read_file did not run/;
  const check = (history: readonly Message[]): string =>
    findCallLoop(history, [call], LIMITS);
  const same = (count: number): Message[] =>
    Array.from({ length: count }, () => step("a.txt", "same"));
  const prompt = userMessage("go");

  it("B4: tells the model at the fifth step with the same calls and results, twice, then ends the turn", () => {
    expect(check([prompt, ...same(3)])).toBe("");
    const warning = check([prompt, ...same(4)]);
    expect(warning).toMatch(WARNING);
    const told = [...same(4), refused("a.txt", warning)];
    expect(check([prompt, ...told, ...same(3)])).toBe("");
    expect(check([prompt, ...told, ...same(4)])).toMatch(WARNING);
    expect(() => check([prompt, ...told, ...told, ...same(4)])).toThrow(
      "calls read_file in the same way again and again",
    );
  });

  it("accepts the same calls with other results up to the higher limit", () => {
    const growing = Array.from({ length: 99 }, (_, index) =>
      step("a.txt", `line ${index}`),
    );
    expect(check([prompt, ...growing.slice(1)])).toBe("");
    expect(() => check([prompt, ...growing])).toThrow("again and again");
  });

  it("starts counting again after another call or a new prompt", () => {
    expect(check([prompt, ...same(4), step("b.txt", "x")])).toBe("");
    expect(check([...same(4), userMessage("again")])).toBe("");
  });

  it("counts the calls of one step once", () => {
    const calls = Array.from({ length: 10 }, () => call);
    expect(findCallLoop([prompt], calls, LIMITS)).toBe("");
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

function refused(path: string, message: string): Message {
  const [part] = step(path, "").parts;
  if (part?.content.case !== "toolCall") throw new Error("no call");
  const result = {
    case: "error" as const,
    value: toolFailure("invalid_tool_params", message),
  };
  const value = {
    ...part.content.value,
    status: ToolCallStatus.FAILED,
    result,
  };
  const content = { case: "toolCall" as const, value };
  return create(MessageSchema, { role: Role.AGENT, parts: [{ content }] });
}
