import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type PartSchema, Role } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { withoutQuestions } from "./questions.ts";

const call = (toolCallId: string, parentToolCallId = ""): MessageInitShape<typeof PartSchema> => ({
  content: { case: "toolCall", value: { toolCallId } },
  toolCallDetail: { parentToolCallId },
});
const answerTo = (toolCallId: string, text: string): Message =>
  create(MessageSchema, {
    role: Role.USER,
    parts: [
      { content: { case: "confirmation", value: { toolCallId, selectedOptionId: "proceed_once" } } },
      { content: { case: "text", value: text } },
    ],
  });

describe("a conversation for a model", () => {
  it("has neither the questions that tools asked nor what the user told them", () => {
    const step = create(MessageSchema, { role: Role.AGENT, parts: [call("c"), call("q", "c")] });
    const [asked, answered] = withoutQuestions([step, answerTo("q", "my password")]);
    expect(asked?.parts).toEqual(step.parts.slice(0, 1));
    expect(answered?.parts.map(({ content }) => content.case)).toEqual(["confirmation"]);
  });

  it("has what the user says beside an answer to the agent itself", () => {
    const step = create(MessageSchema, { role: Role.AGENT, parts: [call("c")] });
    const history = [step, answerTo("c", "but be careful")];
    expect(withoutQuestions(history)).toBe(history);
  });
});
