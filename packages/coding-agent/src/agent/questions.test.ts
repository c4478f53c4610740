import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  type PartSchema,
  Role,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { withoutQuestions } from "./questions.ts";

const call = (
  toolCallId: string,
  parentToolCallId = "",
): MessageInitShape<typeof PartSchema> => ({
  content: { case: "toolCall", value: { toolCallId } },
  toolCallDetail: { parentToolCallId },
});
const answerTo = (toolCallId: string, text: string): Message =>
  create(MessageSchema, {
    role: Role.USER,
    parts: [
      {
        content: {
          case: "confirmation",
          value: { toolCallId, selectedOptionId: "proceed_once" },
        },
      },
      { content: { case: "text", value: text } },
    ],
  });

describe("withoutQuestions", () => {
  it("removes the questions of tools and the text of the answers", () => {
    const step = create(MessageSchema, {
      role: Role.AGENT,
      parts: [call("c"), call("q", "c")],
    });
    const [asked, answered] = withoutQuestions([
      step,
      answerTo("q", "my password"),
    ]);
    expect(asked?.parts).toEqual(step.parts.slice(0, 1));
    expect(answered?.parts.map(({ content }) => content.case)).toEqual([
      "confirmation",
    ]);
  });

  it("keeps the text that comes with an approval", () => {
    const step = create(MessageSchema, {
      role: Role.AGENT,
      parts: [call("c")],
    });
    const history = [step, answerTo("c", "but be careful")];
    expect(withoutQuestions(history)).toBe(history);
  });
});
