import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { exchangeHistory } from "./exchange-history.ts";
import { ToolCallStatus } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type PartSchema,
  Role,
  TaskSchema,
} from "./gen/devtool/v1alpha/task_pb.ts";

type Said = readonly [
  id: string,
  ...parts: MessageInitShape<typeof PartSchema>[],
];

const text: MessageInitShape<typeof PartSchema> = {
  content: { case: "text", value: "words" },
};

describe("the history of an exchange (STREAM-9)", () => {
  it("starts with the message that was sent, and has messages that were taken since", () => {
    expect(
      exchangeIds([["u1"], ["a1"], ["u2"], ["a2"], ["u3"], ["a3"]], "u2"),
    ).toEqual(["u2", "a2", "u3", "a3"]);
  });

  it("starts with the step whose calls the message answers", () => {
    const history: Said[] = [
      ["u1"],
      ["a1", call("c1")],
      ["a2", call("c2")],
      ["u2", answer("c1"), answer("c2")],
      ["a3"],
    ];
    expect(exchangeIds(history, "u2")).toEqual(["a1", "a2", "u2", "a3"]);
  });

  it("has the question that the task waits for, even if the message is queued behind it", () => {
    const history: Said[] = [["u1"], ["a1"], ["u2"], ["a2", asking("c1")]];
    expect(exchangeIds(history, "u3", ["u3"])).toEqual(["a2"]);
    expect(exchangeIds(history, "u2")).toEqual(["u2", "a2"]);
  });

  it("is empty for a message that is queued or was withdrawn", () => {
    expect(exchangeIds([["u1"], ["a1"]], "u2", ["u2"])).toEqual([]);
    expect(exchangeIds([["u1"], ["a1"]], "u2")).toEqual([]);
  });

  it("starts with the last message of a repeated id, and never with the agent's", () => {
    expect(exchangeIds([["u1"], ["a1"], ["u1"], ["a2"]], "u1")).toEqual([
      "u1",
      "a2",
    ]);
    expect(exchangeIds([["u1"], ["a1"]], "a1")).toEqual([]);
  });
});

function exchangeIds(
  history: readonly Said[],
  messageId: string,
  queued: readonly string[] = [],
): string[] {
  const task = create(TaskSchema, {
    history: history.map(([id, ...parts]) => ({
      messageId: id,
      role: id.startsWith("u") ? Role.USER : Role.AGENT,
      parts: parts.length > 0 ? parts : [text],
    })),
    queuedMessages: queued.map((id) => ({ message: { messageId: id } })),
  });
  return exchangeHistory(task, messageId).map((message) => message.messageId);
}

function call(toolCallId: string): MessageInitShape<typeof PartSchema> {
  return {
    content: {
      case: "toolCall",
      value: { toolCallId, status: ToolCallStatus.SUCCEEDED },
    },
  };
}

function asking(toolCallId: string): MessageInitShape<typeof PartSchema> {
  const confirmationRequest = { options: [{ id: "cancel" }] };
  return {
    content: {
      case: "toolCall",
      value: {
        toolCallId,
        status: ToolCallStatus.PENDING,
        confirmationRequest,
      },
    },
  };
}

function answer(toolCallId: string): MessageInitShape<typeof PartSchema> {
  return {
    content: {
      case: "confirmation",
      value: { toolCallId, selectedOptionId: "cancel" },
    },
  };
}
