import {
  create,
  fromJson,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { isObject } from "@devtool/internal/json";
import {
  MODIFIED_ARGUMENTS_URI,
  PART_URI,
  SHOWN_DIGEST_URI,
} from "../extension.ts";
import {
  type Part as A2aPart,
  PartSchema as A2aPartSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  AgentThoughtSchema,
  DevelopmentToolEvent_DevelopmentToolEventKind as Kind,
} from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  ErrorDetailsSchema,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type Citation,
  FileSchema,
  type Part,
  PartSchema,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { missing, quote, WireError } from "../wire-error.ts";
import {
  decodeConfirmation,
  encodeConfirmation,
  looksLikeConfirmation,
} from "./confirmation.ts";

/**
 * Metadata key of official SDKs for a data part that wraps a value. Data parts
 * of A2A 0.3 hold only objects.
 */
const WRAPPED = "data_part_compat";

/**
 * Wraps a JSON value that is not an object for a data part of A2A 0.3: as
 * `{"value": …}`, marked in the part's metadata.
 */
export function wrapValue(value: JsonValue): {
  readonly data: JsonObject;
  readonly metadata: JsonObject;
} {
  return { data: { value }, metadata: { [WRAPPED]: true } };
}

/**
 * Unwraps the value of a data part of A2A 0.3, and removes the mark from its
 * metadata. Undefined if it wraps none.
 */
export function unwrapValue({
  kind,
  data,
  metadata,
}: A2aPart):
  | { readonly value: JsonValue; readonly metadata: JsonObject }
  | undefined {
  const { [WRAPPED]: mark, ...rest } = metadata ?? {};
  const { value, ...others } = data ?? {};
  const isWrapped =
    kind === "data" && mark === true && value !== undefined && !isObject(value);
  return isWrapped && Object.keys(others).length === 0
    ? { value, metadata: rest }
    : undefined;
}

/** Encodes a part of a message. Undefined for a part without content. */
export function encodePart(part: Part): A2aPart | undefined {
  const written = encodeContent(part.content);
  if (!written) return undefined;
  const { shownDigest, modifiedArguments } = part;
  // An answer has the digest of its question and the user's arguments beside
  // the RFC's confirmation.
  const metadata = {
    ...part.metadata,
    ...written.metadata,
    ...namesMetadata(part),
    ...(shownDigest.length > 0 && {
      [SHOWN_DIGEST_URI]: base64Encode(shownDigest),
    }),
    ...(modifiedArguments && { [MODIFIED_ARGUMENTS_URI]: modifiedArguments }),
  };
  return Object.keys(metadata).length === 0
    ? written
    : { ...written, metadata };
}

function encodeContent(content: Part["content"]): A2aPart | undefined {
  switch (content.case) {
    case "text":
      return textPart(content.value);
    case "file": {
      const { name, mediaType, source } = content.value;
      return create(A2aPartSchema, {
        kind: "file",
        file: { name, mimeType: mediaType, source },
      });
    }
    case "data":
      return dataPart(content.value);
    case "dataValue":
      return create(A2aPartSchema, {
        kind: "data",
        ...wrapValue(toJson(ValueSchema, content.value)),
      });
    case "thought":
      return dataPart(encodeRfcJson(AgentThoughtSchema, content.value));
    case "toolCall":
      return dataPart(encodeRfcJson(ToolCallSchema, withResult(content.value)));
    case "confirmation":
      return dataPart(encodeConfirmation(content.value));
    case "citation":
      return textPart(citationText(content.value));
    case "summary":
      return textPart(content.value.text);
    case undefined:
      return undefined;
    default:
      return content satisfies never;
  }
}

function textPart(text: string): A2aPart {
  return create(A2aPartSchema, { kind: "text", text });
}

function dataPart(data: JsonObject): A2aPart {
  return create(A2aPartSchema, { kind: "data", data });
}

/** The `type` of the error of a call that was cancelled (TOOL-8). */
const CANCELLED = "cancelled";

/**
 * Returns a call with a result if it has ended: the RFC demands one also of a
 * call that was cancelled.
 */
function withResult(call: ToolCall): ToolCall {
  const isBare =
    call.status === ToolCallStatus.CANCELLED && call.result.case === undefined;
  if (!isBare) return call;
  const value = create(ErrorDetailsSchema, {
    message: "the call was cancelled",
    type: CANCELLED,
  });
  return { ...call, result: { case: "error", value } };
}

/** Decodes a tool call, without the result that `withResult` added. */
function decodeToolCall(data: JsonObject, path: string): Part["content"] {
  const call = decodeRfcJson(ToolCallSchema, data, path);
  const { result, status } = call;
  const isAdded =
    status === ToolCallStatus.CANCELLED &&
    result.case === "error" &&
    result.value.type === CANCELLED;
  const value = isAdded ? { ...call, result: { case: undefined } } : call;
  return { case: "toolCall", value };
}

/**
 * Encodes the media type and file name of text and data as metadata: parts of
 * A2A 0.3 have no fields for them.
 */
export function namesMetadata({
  mediaType,
  fileName,
}: Pick<Part, "mediaType" | "fileName">): JsonObject | undefined {
  if (mediaType === "" && fileName === "") return undefined;
  return {
    [PART_URI]: toJson(PartSchema, create(PartSchema, { mediaType, fileName })),
  };
}

/**
 * Decodes what `namesMetadata` encoded, and returns it with the rest of the
 * metadata, which is undefined if empty.
 */
export function splitNames(
  metadata: JsonObject | undefined,
): Pick<Part, "mediaType" | "fileName" | "metadata"> {
  const { [PART_URI]: names, ...rest } = metadata ?? {};
  const { mediaType, fileName } = isObject(names)
    ? decodeRfcJson(PartSchema, names)
    : create(PartSchema);
  return {
    mediaType,
    fileName,
    metadata: Object.keys(rest).length > 0 ? rest : undefined,
  };
}

/**
 * Moves what an answer has beside the RFC's confirmation from the metadata to
 * the part (TOOL-11, TOOL-12).
 */
function withAnswerFields(part: Part, path: string): Part {
  const {
    [SHOWN_DIGEST_URI]: encoded,
    [MODIFIED_ARGUMENTS_URI]: args,
    ...rest
  } = part.metadata ?? {};
  const argumentsPath = `${path}.metadata["${MODIFIED_ARGUMENTS_URI}"]`;
  if (part.content.case !== "confirmation") {
    if (args === undefined) return part;
    const problem =
      "is beside a part that answers no tool call: put it beside tool_call_id and selected_option_id";
    throw new WireError(argumentsPath, "", problem);
  }
  const digest =
    typeof encoded === "string" && DIGEST.test(encoded)
      ? base64Decode(encoded)
      : undefined;
  if (encoded !== undefined && !digest) {
    const problem =
      "is not a SHA-256 in base64: copy toolCallDetail.digest of the question";
    throw new WireError(
      `${path}.metadata["${SHOWN_DIGEST_URI}"]`,
      quote(encoded),
      problem,
    );
  }
  if (args !== undefined && !isObject(args)) {
    const problem =
      "is not an object: write all arguments of the call by their names";
    throw new WireError(argumentsPath, quote(args), problem);
  }
  return {
    ...part,
    metadata: Object.keys(rest).length > 0 ? rest : undefined,
    shownDigest: digest ?? part.shownDigest,
    modifiedArguments: args,
  };
}

/** 32 bytes in base64 or base64url. */
const DIGEST = /^[\w+/-]{43}=?$/;

/** Renders a citation as text, for clients that do not know the message. */
export function citationText({ title, uri, license }: Citation): string {
  const named = [
    title,
    uri && (title ? `<${uri}>` : uri),
    license && `(${license})`,
  ].filter((word) => word !== "");
  return `\nSource: ${named.join(" ")}\n`;
}

/**
 * Returns the RFC's kind of update that carries a part. TEXT_CONTENT for parts
 * that the RFC has no kind for.
 */
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
 * Decodes a part of a message whose metadata states a kind.
 *
 * A data part without a kind is an answer if it has a tool call id and an
 * option: clients may send one next to text without stating it (TOOL-5).
 */
export function decodePart(part: A2aPart, kind: Kind, path: string): Part {
  const at = `${path}.data`;
  return decodePartWith(part, path, (data) => {
    switch (kind) {
      case Kind.THOUGHT:
        return {
          case: "thought",
          value: decodeRfcJson(AgentThoughtSchema, data, at),
        };
      case Kind.TOOL_CALL_UPDATE:
        return decodeToolCall(data, at);
      case Kind.STATE_CHANGE: {
        // It holds the tool calls that the task waits for (STREAM-2). Other
        // data is plain.
        const isCall = "tool_call_id" in data || "toolCallId" in data;
        return isCall
          ? decodeToolCall(data, at)
          : { case: "data", value: data };
      }
      default:
        if (looksLikeConfirmation(data)) {
          return { case: "confirmation", value: decodeConfirmation(data, at) };
        }
        // Earlier agents send a question as a whole ToolCall under the kind of
        // an answer (STREAM-2).
        if (kind !== Kind.TOOL_CALL_CONFIRMATION) {
          return { case: "data", value: data };
        }
        return decodeToolCall(data, at);
    }
  });
}

/**
 * Decodes a part and its metadata. `readData` decodes objects in data parts.
 */
export function decodePartWith(
  part: A2aPart,
  path: string,
  readData: (data: JsonObject) => Part["content"],
): Part {
  const found = unwrapValue(part);
  if (!found) {
    const content = decodeContent(part, path, readData);
    return withAnswerFields(
      create(PartSchema, { content, ...splitNames(part.metadata) }),
      path,
    );
  }
  const value = fromJson(ValueSchema, found.value);
  return create(PartSchema, {
    content: { case: "dataValue", value },
    ...splitNames(found.metadata),
  });
}

function decodeContent(
  part: A2aPart,
  path: string,
  readData: (data: JsonObject) => Part["content"],
): Part["content"] {
  switch (part.kind) {
    case "text":
      return { case: "text", value: part.text ?? "" };
    case "file": {
      if (!part.file) throw missing(`${path}.file`);
      const { name, mimeType, source } = part.file;
      return {
        case: "file",
        value: create(FileSchema, { name, mediaType: mimeType, source }),
      };
    }
    case "data":
      if (!part.data) {
        throw missing(`${path}.data`, "a data part of A2A 0.3 holds an object");
      }
      return readData(part.data);
    default:
      throw new WireError(
        `${path}.kind`,
        quote(part.kind),
        `${part.kind === "" ? "is missing" : "is not known"}: choose text, file or data`,
      );
  }
}
