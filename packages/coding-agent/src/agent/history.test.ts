import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { modelHistory } from "./history.ts";

describe("modelHistory", () => {
  it("is the whole conversation if it has no summary", () => {
    const history = [said("a"), said("b")];
    expect(modelHistory(history)).toBe(history);
  });

  it("is the last summary, the messages that it keeps, and the messages after it", () => {
    expect(namesOf([said("a"), said("b"), said("c"), summary("S", 2), said("d")])).toEqual(["S", "b", "c", "d"]);
    expect(namesOf([said("a"), said("b"), summary("S", 0)])).toEqual(["S"]);
  });

  it("keeps no message from before an earlier summary", () => {
    expect(namesOf([said("a"), summary("S", 1), said("b"), summary("T", 9), said("c")])).toEqual(["T", "b", "c"]);
  });
});

function namesOf(history: readonly Message[]): string[] {
  return modelHistory(history).map(({ messageId }) => messageId);
}

function said(messageId: string): Message {
  return create(MessageSchema, { messageId, role: Role.USER, parts: [{ content: { case: "text", value: "words" } }] });
}

function summary(messageId: string, keptMessages: number): Message {
  const value = { text: "notes", keptMessages };
  return create(MessageSchema, { messageId, role: Role.AGENT, parts: [{ content: { case: "summary", value } }] });
}
