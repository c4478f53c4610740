import { create, type JsonObject } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "../extension.ts";
import {
  type Message as A2aMessage,
  MessageSchema as A2aMessageSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  type DevelopmentToolEvent,
  DevelopmentToolEventSchema,
  DevelopmentToolEvent_DevelopmentToolEventKind as Kind,
} from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import { type Message, MessageSchema, type Part, Role } from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { quote, WireError } from "../wire-error.ts";
import { extensionMetadata } from "./metadata.ts";
import { decodePart, encodePart, kindOfPart } from "./part.ts";

/** Where a message belongs. */
export interface MessagePlace {
  readonly taskId: string;
  readonly contextId: string;
}

/** Writes the pieces of a message that are of one kind, and says the kind, when they have one, in its metadata. */
export function encodeMessage(message: Message, kind: Kind, place: MessagePlace): A2aMessage {
  const event = encodeRfcJson(DevelopmentToolEventSchema, create(DevelopmentToolEventSchema, { kind }));
  return create(A2aMessageSchema, {
    kind: "message",
    messageId: message.messageId,
    role: message.role === Role.USER ? "user" : "agent",
    parts: message.parts.flatMap((part) => encodePart(part) ?? []),
    referenceTaskIds: message.referenceTaskIds,
    ...(kind !== Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED && { metadata: { [EXTENSION_URI]: event } }),
    ...place,
  });
}

/**
 * Writes a message as one A2A message for each run of pieces of one kind, so that the metadata of each says what its
 * data parts hold. The first keeps the message's id, the others add a number to it.
 */
export function encodeMessageRuns(message: Message, place: MessagePlace): A2aMessage[] {
  const runs: Part[][] = [];
  for (const part of message.parts) {
    const run = runs.at(-1);
    if (run?.[0] && kindOfPart(run[0]) === kindOfPart(part)) run.push(part);
    else runs.push([part]);
  }
  return runs.map((parts, index) => {
    const messageId = index === 0 ? message.messageId : `${message.messageId}#${index}`;
    const [first] = parts;
    return encodeMessage({ ...message, messageId, parts }, first ? kindOfPart(first) : Kind.TEXT_CONTENT, place);
  });
}

/** Reads a message; the kind of its data parts is in its metadata, or is given for a message inside an event. */
export function decodeMessage(message: A2aMessage, path: string, outer?: DevelopmentToolEvent): Message {
  const kind = outer?.kind || eventOf(message.metadata)?.kind || Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
  return create(MessageSchema, {
    messageId: message.messageId,
    role: decodeRole(message.role, path),
    referenceTaskIds: message.referenceTaskIds,
    parts: message.parts.map((part, index) => decodePart(part, kind, `${path}.parts[${index}]`)),
  });
}

/** Reads the extension's event off a `metadata` field; undefined when there is none. */
export function eventOf(metadata: JsonObject | undefined): DevelopmentToolEvent | undefined {
  const json = extensionMetadata(metadata);
  return json && decodeRfcJson(DevelopmentToolEventSchema, json);
}

function decodeRole(role: string, path: string): Role {
  if (role === "user") return Role.USER;
  if (role === "agent") return Role.AGENT;
  throw new WireError(`${path}.role`, quote(role), "choose user or agent");
}
