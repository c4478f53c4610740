import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type Role } from "@devtool/schema";

/** Creates a message with one text part. */
export function textMessage(role: Role, text: string, messageId = ""): Message {
  return create(MessageSchema, {
    messageId,
    role,
    parts: [{ content: { case: "text", value: text } }],
  });
}

/**
 * Returns the text parts of a message, joined by line breaks. Empty when it has
 * none.
 */
export function messageText({ parts }: Message): string {
  return parts
    .flatMap(({ content }) => (content.case === "text" ? [content.value] : []))
    .join("\n");
}
