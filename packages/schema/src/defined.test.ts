import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { describe, expect, it } from "vitest";
import {
  type Message,
  MessageSchema,
  PartSchema,
  Role,
} from "./gen/devtool/v1alpha/task_pb.ts";

describe("an object without undefined fields", () => {
  it("gives the initial value of a message, oneofs and lists of messages included", () => {
    const message: Message = create(
      MessageSchema,
      defined({
        messageId: maybe(undefined),
        role: Role.AGENT,
        parts: [{ content: { case: "text", value: "hi" } }, create(PartSchema)],
      }),
    );

    expect(message.messageId).toBe("");
    expect(message.parts.map(({ content }) => content.case)).toEqual([
      "text",
      undefined,
    ]);
  });
});

function maybe(text: string | undefined): string | undefined {
  return text;
}
