import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { modelHistory } from "./history.ts";

describe("modelHistory", () => {
  it("is the whole conversation if it has no summary", () => {
    const history = [userMessage("a"), userMessage("b")];
    expect(modelHistory(history)).toBe(history);
  });

  it("is the last summary, the messages that it keeps, and the messages after it", () => {
    expect(
      namesOf([
        userMessage("a"),
        userMessage("b"),
        userMessage("c"),
        summaryMessage("S", 2),
        userMessage("d"),
      ]),
    ).toEqual(["S", "b", "c", "d"]);
    expect(
      namesOf([userMessage("a"), userMessage("b"), summaryMessage("S", 0)]),
    ).toEqual(["S"]);
  });

  it("keeps no message from before an earlier summary", () => {
    expect(
      namesOf([
        userMessage("a"),
        summaryMessage("S", 1),
        userMessage("b"),
        summaryMessage("T", 9),
        userMessage("c"),
      ]),
    ).toEqual(["T", "b", "c"]);
  });
});

function namesOf(history: readonly Message[]): string[] {
  return modelHistory(history).map(({ messageId }) => messageId);
}

function userMessage(messageId: string): Message {
  return create(MessageSchema, {
    messageId,
    role: Role.USER,
    parts: [{ content: { case: "text", value: "words" } }],
  });
}

function summaryMessage(messageId: string, keptMessages: number): Message {
  const value = { text: "notes", keptMessages };
  return create(MessageSchema, {
    messageId,
    role: Role.AGENT,
    parts: [{ content: { case: "summary", value } }],
  });
}
