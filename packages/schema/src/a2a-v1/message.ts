import { create } from "@bufbuild/protobuf";
import { fieldsOf } from "../fields-of.ts";
import {
  type Message as MessageV03,
  MessageSchema as MessageV03Schema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { type Message, MessageSchema, Role } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { partFromV03, partToV03 } from "./part.ts";

/** The names of the roles in A2A 0.3. */
const ROLE_NAMES: Readonly<Record<Role, string>> = {
  [Role.UNSPECIFIED]: "",
  [Role.USER]: "user",
  [Role.AGENT]: "agent",
};

/** Converts a message of A2A 0.3 to one of 1.0. */
export function messageFromV03(message: MessageV03): Message {
  return create(MessageSchema, {
    ...fieldsOf(message),
    role: message.role === ROLE_NAMES[Role.USER] ? Role.USER : Role.AGENT,
    parts: message.parts.map(partFromV03),
  });
}

/**
 * Converts a message of A2A 1.0 to one of 0.3. Throws a `WireError` that names
 * the first part without content.
 */
export function messageToV03(message: Message, path: string): MessageV03 {
  return create(MessageV03Schema, {
    ...fieldsOf(message),
    kind: "message",
    role: ROLE_NAMES[message.role],
    parts: message.parts.map((part, index) =>
      partToV03(part, `${path}.parts[${index}]`),
    ),
  });
}
