import { create, type JsonObject } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { EXTENSION_URI, isExtensionUri, TASK_EVENT_URI } from "../extension.ts";
import {
  type Message as A2aMessage,
  MessageSchema as A2aMessageSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  type DevelopmentToolEvent,
  DevelopmentToolEventSchema,
  DevelopmentToolEvent_DevelopmentToolEventKind as Kind,
} from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  type Message,
  MessageSchema,
  type Part,
  Role,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { confirmationsOf } from "../tool-call.ts";
import { quote, WireError } from "../wire-error.ts";
import {
  assertNoBrokenConfirmation,
  looksLikeConfirmation,
} from "./confirmation.ts";
import { extensionMetadata } from "./metadata.ts";
import { decodePart, encodePart, kindOfPart } from "./part.ts";
import { assertNoSettings } from "./settings.ts";

/** The task and the conversation that a message belongs to. */
export interface MessagePlace {
  readonly taskId: string;
  readonly contextId: string;
}

/**
 * Encodes a message, or a run of its parts that have the same kind.
 *
 * The sender's metadata is kept. The kind is added under the extension's URI,
 * unless the sender put something there.
 */
export function encodeMessage(
  message: Message,
  kind: Kind,
  place: MessagePlace,
): A2aMessage {
  const metadata = { ...message.metadata };
  if (
    kind !== Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED &&
    !extensionMetadata(message.metadata)
  ) {
    // The model of a user's message is the one that it asks for.
    const model = message.role === Role.USER ? "" : message.model;
    const event = create(DevelopmentToolEventSchema, { kind, model });
    metadata[EXTENSION_URI] = encodeRfcJson(DevelopmentToolEventSchema, event);
  }
  return create(A2aMessageSchema, {
    kind: "message",
    messageId: message.messageId,
    role: message.role === Role.USER ? "user" : "agent",
    parts: message.parts.flatMap((part) => encodePart(part) ?? []),
    referenceTaskIds: message.referenceTaskIds,
    extensions: message.extensions,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    ...place,
  });
}

/**
 * Encodes a message of a task's history.
 *
 * A user's message stays whole, and is marked as an answer if it answers tool
 * calls. An agent's message becomes one A2A message for each run of parts of
 * one kind, because the metadata of a message states the kind of its data
 * parts. The first run has the id of the message; the others append `#` and
 * their number.
 */
export function encodeHistoryMessage(
  message: Message,
  place: MessagePlace,
): A2aMessage[] {
  if (message.role === Role.USER) {
    const answers = confirmationsOf(message).length > 0;
    const kind = answers
      ? Kind.TOOL_CALL_CONFIRMATION
      : Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
    return [encodeMessage(message, kind, place)];
  }
  return runsOf(message.parts).map((parts, index) => {
    const messageId =
      index === 0 ? message.messageId : `${message.messageId}#${index}`;
    const [first] = parts;
    return encodeMessage(
      { ...message, messageId, parts },
      first ? kindOfPart(first) : Kind.TEXT_CONTENT,
      place,
    );
  });
}

/** Groups consecutive parts of the same kind. */
export function runsOf(parts: readonly Part[]): Part[][] {
  const runs: Part[][] = [];
  for (const part of parts) {
    const run = runs.at(-1);
    if (run?.[0] && kindOfPart(run[0]) === kindOfPart(part)) {
      run.push(part);
    } else {
      runs.push([part]);
    }
  }
  return runs;
}

/**
 * Decodes a message.
 *
 * The kind of its data parts is in its metadata, or is passed for a message
 * inside an event. The decoded metadata no longer holds the kind, which is
 * implied by the parts.
 */
export function decodeMessage(
  message: A2aMessage,
  path: string,
  outer?: DevelopmentToolEvent,
): Message {
  if (message.role !== "user" && message.role !== "agent") {
    throw new WireError(
      `${path}.role`,
      quote(message.role),
      "must be user or agent",
    );
  }
  const kind =
    outer?.kind ||
    decodeEventMetadata(message.metadata)?.kind ||
    Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
  const metadata = Object.entries(message.metadata ?? {}).filter(
    ([key, value]) => {
      const statesKind =
        isExtensionUri(key) && isObject(value) && "kind" in value;
      return key !== TASK_EVENT_URI && !statesKind;
    },
  );
  return create(MessageSchema, {
    messageId: message.messageId,
    role: message.role === "user" ? Role.USER : Role.AGENT,
    referenceTaskIds: message.referenceTaskIds,
    extensions: message.extensions,
    metadata: metadata.length === 0 ? undefined : Object.fromEntries(metadata),
    parts: message.parts.map((part, index) =>
      decodePart(part, kind, `${path}.parts[${index}]`),
    ),
  });
}

/**
 * Decodes a message from a client (TOOL-5). Throws a `WireError` for data that
 * was meant as an answer but cannot be decoded as one.
 */
export function decodeSentMessage(message: A2aMessage, path: string): Message {
  for (const [index, { data, metadata = {} }] of message.parts.entries()) {
    assertNoSettings(metadata, `${path}.parts[${index}].metadata`);
    if (data && !looksLikeConfirmation(data)) {
      assertNoBrokenConfirmation(data, `${path}.parts[${index}].data`);
    }
  }
  return decodeMessage(message, path);
}

/**
 * Decodes the extension's event in a `metadata` field. Undefined if there is
 * none.
 */
export function decodeEventMetadata(
  metadata: JsonObject | undefined,
): DevelopmentToolEvent | undefined {
  const json = extensionMetadata(metadata);
  return json && decodeRfcJson(DevelopmentToolEventSchema, json);
}

/**
 * Encodes a reply that is the whole response. It names its conversation but no
 * task, because clients see no task.
 */
export function encodeReply(reply: Message, contextId: string): JsonObject {
  const kind = Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
  return encodeRfcJson(
    A2aMessageSchema,
    encodeMessage(reply, kind, { taskId: "", contextId }),
  );
}
