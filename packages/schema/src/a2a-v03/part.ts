import { create } from "@bufbuild/protobuf";
import { ToolCallConfirmationSchema } from "../gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import {
  type Part as A2aPart,
  PartSchema as A2aPartSchema,
  type FileContent,
  FileContentSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  AgentThoughtSchema,
  DevelopmentToolEvent_DevelopmentToolEventKind as Kind,
} from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import { ToolCallSchema } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { type Citation, type File, FileSchema, type Part, PartSchema } from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { quote, WireError } from "../wire-error.ts";

/** Writes a piece of a message; undefined for one that holds nothing. */
export function encodePart({ content }: Part): A2aPart | undefined {
  switch (content.case) {
    case "text":
      return create(A2aPartSchema, { kind: "text", text: content.value });
    case "file":
      return create(A2aPartSchema, { kind: "file", file: encodeFile(content.value) });
    case "data":
      return create(A2aPartSchema, { kind: "data", data: content.value });
    case "thought":
      return create(A2aPartSchema, { kind: "data", data: encodeRfcJson(AgentThoughtSchema, content.value) });
    case "toolCall":
      return create(A2aPartSchema, { kind: "data", data: encodeRfcJson(ToolCallSchema, content.value) });
    case "confirmation":
      return create(A2aPartSchema, { kind: "data", data: encodeRfcJson(ToolCallConfirmationSchema, content.value) });
    case "citation":
      return create(A2aPartSchema, { kind: "text", text: citationText(content.value) });
    case "summary":
      return create(A2aPartSchema, { kind: "text", text: content.value.text });
    case undefined:
      return undefined;
    default:
      return content satisfies never;
  }
}

/** A source in words, for those who know no other form of it. */
export function citationText({ title, uri, license }: Citation): string {
  const named = [title, uri && (title ? `<${uri}>` : uri), license && `(${license})`].filter((word) => word !== "");
  return `\nSource: ${named.join(" ")}\n`;
}

/** The kind of event that carries a piece; text for all that the RFC has no kind for. */
export function kindOfPart({ content }: Part): Kind {
  switch (content.case) {
    case "thought":
      return Kind.THOUGHT;
    case "toolCall":
      return Kind.TOOL_CALL_UPDATE;
    case "confirmation":
      return Kind.TOOL_CALL_CONFIRMATION;
    default:
      return Kind.TEXT_CONTENT;
  }
}

/**
 * Reads a piece of a message whose kind its metadata tells. A data part without a kind is a confirmation when it names
 * a tool call and an option, as a client may send it beside text without saying so (TOOL-5).
 */
export function decodePart(part: A2aPart, kind: Kind, path: string): Part {
  switch (part.kind) {
    case "text":
      return create(PartSchema, { content: { case: "text", value: part.text ?? "" } });
    case "file":
      if (!part.file) throw new WireError(`${path}.file`, "", "is missing");
      return create(PartSchema, { content: { case: "file", value: decodeFile(part.file) } });
    case "data":
      if (!part.data) throw new WireError(`${path}.data`, "", "is missing: a data part holds an object");
      return create(PartSchema, { content: decodeData(part.data, kind) });
    default:
      throw new WireError(`${path}.kind`, quote(part.kind), "choose text, file or data");
  }
}

function decodeData(data: NonNullable<A2aPart["data"]>, kind: Kind): Part["content"] {
  switch (kind) {
    case Kind.THOUGHT:
      return { case: "thought", value: decodeRfcJson(AgentThoughtSchema, data) };
    case Kind.TOOL_CALL_UPDATE:
      return { case: "toolCall", value: decodeRfcJson(ToolCallSchema, data) };
    case Kind.TOOL_CALL_CONFIRMATION:
      return decodeConfirmation(data);
    default:
      return looksLikeConfirmation(data) ? decodeConfirmation(data) : { case: "data", value: data };
  }
}

/** Reads an answer; an older agent's question, a whole ToolCall under the kind of an answer, is read as the call (STREAM-2). */
function decodeConfirmation(data: NonNullable<A2aPart["data"]>): Part["content"] {
  if (looksLikeConfirmation(data))
    return { case: "confirmation", value: decodeRfcJson(ToolCallConfirmationSchema, data) };
  return { case: "toolCall", value: decodeRfcJson(ToolCallSchema, data) };
}

function looksLikeConfirmation(data: object): boolean {
  return "selected_option_id" in data || "selectedOptionId" in data;
}

function encodeFile({ name, mediaType, source }: File): FileContent {
  return create(FileContentSchema, { name, mimeType: mediaType, source });
}

/** The file of a part. */
export function decodeFile({ name, mimeType, source }: FileContent): File {
  return create(FileSchema, { name, mediaType: mimeType, source });
}
