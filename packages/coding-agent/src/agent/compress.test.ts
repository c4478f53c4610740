import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  Role,
  SummarySchema,
  ToolCallStatus,
  toolCallsOf,
  UsageSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { compress, needsCompression } from "./compress.ts";
import { modelHistory } from "./history.ts";
import type { Model, ModelRequest, StepRequest } from "./model.ts";

const { signal } = new AbortController();

describe("needsCompression", () => {
  it("is true above 70 % of the input limit", () => {
    const used = (inputTokens: bigint) =>
      create(UsageSchema, { inputTokens, outputTokens: 100n });
    expect(needsCompression([], used(600n), 1000)).toBe(false);
    expect(needsCompression([], used(601n), 1000)).toBe(true);
  });

  it("estimates the size when the last step reported no usage", () => {
    expect(
      needsCompression([userMessage("x".repeat(2800))], undefined, 1000),
    ).toBe(false);
    expect(
      needsCompression([userMessage("x".repeat(2804))], undefined, 1000),
    ).toBe(true);
  });

  it("counts the images of results", () => {
    const step = (count: number): Message =>
      create(MessageSchema, {
        role: Role.AGENT,
        parts: [
          {
            content: { case: "toolCall", value: { toolCallId: "c" } },
            toolCallDetail: {
              files: Array.from({ length: count }, () => ({
                mediaType: "image/png",
              })),
            },
          },
        ],
      });
    expect(needsCompression([step(6)], undefined, 10_000)).toBe(false);
    expect(needsCompression([step(7)], undefined, 10_000)).toBe(true);
  });

  it("is false for a model without a limit", () => {
    expect(
      needsCompression([userMessage("x".repeat(10_000))], undefined, undefined),
    ).toBe(false);
  });

  it("does not count messages that a summary replaced", () => {
    const history = [
      userMessage("x".repeat(10_000)),
      summaryMessage("notes", 0),
      userMessage("short"),
    ];
    expect(needsCompression(history, undefined, 1000)).toBe(false);
  });
});

describe("compress", () => {
  it("asks for a summary without tools, and keeps the newest messages verbatim", async () => {
    const model = recordingModel("the notes");
    const history = [
      ...Array.from({ length: 10 }, (_, index) =>
        userMessage(`${index}`.padEnd(400, ".")),
      ),
      userMessage("now?"),
    ];
    const summary = await compress(model, request(history), signal);
    expect(summary).toMatchObject({ text: "the notes", keptMessages: 3 });
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]?.tools).toEqual([]);
    expect(model.requests[0]?.history).toHaveLength(history.length - 3 + 1);
  });

  it("keeps a prompt that waits for its answer, however long it is", async () => {
    const history = [
      userMessage("a".repeat(400)),
      userMessage("b".repeat(4000)),
    ];
    expect(
      await compress(recordingModel("notes"), request(history), signal),
    ).toMatchObject({ keptMessages: 1 });
  });

  it("repeats the open request when its message is not kept", async () => {
    const history = [
      userMessage(`Fix the bug. ${"a".repeat(400)}`),
      callMessage("x".repeat(4000)),
      callMessage("y".repeat(400)),
    ];
    const summary = await compress(
      recordingModel("notes"),
      request(history),
      signal,
    );
    expect(summary?.text).toContain("word for word:\n\nFix the bug.");
  });

  it("keeps each call together with its result", async () => {
    const history = [
      userMessage("go"),
      ...Array.from({ length: 20 }, () => callMessage("x".repeat(500))),
    ];
    const summary = await compress(
      recordingModel("notes"),
      request(history),
      signal,
    );
    if (!summary) throw new Error("there should be a summary");
    const current = modelHistory([
      ...history,
      summaryMessage(summary.text, summary.keptMessages),
    ]);
    const calls = current.flatMap(toolCallsOf);
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.every(({ result }) => result.case === "output")).toBe(true);
  });

  it("summarizes the earlier summary, and keeps no message from before it", async () => {
    const model = recordingModel("all notes");
    const history = [
      userMessage("a".repeat(100)),
      summaryMessage("early notes", 1),
      userMessage("b".repeat(900)),
      userMessage("c"),
    ];
    const summary = await compress(model, request(history), signal);
    expect(summary?.keptMessages).toBeLessThanOrEqual(2);
    expect(model.requests[0]?.history[0]?.parts[0]?.content).toMatchObject({
      value: { text: "early notes" },
    });
  });

  it("returns no summary when it would not make the history shorter", async () => {
    expect(
      await compress(
        recordingModel("notes"),
        request([userMessage("short")]),
        signal,
      ),
    ).toBeUndefined();
    expect(
      await compress(
        recordingModel("x".repeat(9000)),
        request([userMessage("a".repeat(400)), userMessage("b")]),
        signal,
      ),
    ).toBeUndefined();
    expect(
      await compress(
        recordingModel(""),
        request([userMessage("a".repeat(400)), userMessage("b")]),
        signal,
      ),
    ).toBeUndefined();
  });
});

/**
 * Creates a model that always gives the same answer, and records its requests.
 */
function recordingModel(
  text: string,
): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    name: "notes",
    requests,
    generate: async function* (received) {
      requests.push(received);
      yield { case: "text", value: text };
    },
  };
}

function request(history: readonly Message[]): StepRequest {
  const tools = [{ name: "read_file", description: "", parameters: {} }];
  return {
    history,
    tools,
    workspacePath: "/w",
    instructions: async () => "",
    beginStep: () => () => undefined,
    traceContext: () => undefined,
    model: "",
  };
}

function userMessage(text: string): Message {
  return create(MessageSchema, {
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
  });
}

function callMessage(output: string): Message {
  const value = {
    toolName: "read_file",
    status: ToolCallStatus.SUCCEEDED,
    result: {
      case: "output" as const,
      value: { result: { case: "text" as const, value: output } },
    },
  };
  return create(MessageSchema, {
    role: Role.AGENT,
    parts: [{ content: { case: "toolCall", value } }],
  });
}

function summaryMessage(text: string, keptMessages: number): Message {
  const value = create(SummarySchema, { text, keptMessages });
  return create(MessageSchema, {
    role: Role.AGENT,
    parts: [{ content: { case: "summary", value } }],
  });
}
