import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isExtensionUri } from "../extension.ts";
import { isObject } from "../json.ts";
import { extensionMetadata } from "./metadata.ts";

/** The places of a request in which its sender can show that it knows the extension (CARD-3). */
export interface ExtensionSigns {
  /** The `metadata` of the parameters and of the message. */
  readonly metadata: readonly (JsonObject | undefined)[];
  /** The `extensions` of the message: the URIs of those that it uses. */
  readonly extensions: readonly string[];
  /** What the data parts of the message hold. */
  readonly data: readonly JsonValue[];
}

/** Finds the signs in the parameters of a method of A2A 0.3. */
export function signsIn(params: JsonValue | undefined): ExtensionSigns {
  const { metadata, message } = objectOf(params);
  const { metadata: own, extensions, parts } = objectOf(message);
  return {
    metadata: [objectOf(metadata), objectOf(own)],
    extensions: listOf(extensions).filter((uri) => typeof uri === "string"),
    data: listOf(parts).flatMap((part) => objectOf(part).data ?? []),
  };
}

/** Returns whether one of the signs is there: data under the extension's URI, its URI itself, or an answer to a tool call. */
export function showsExtension({ metadata, extensions, data }: ExtensionSigns): boolean {
  return (
    extensions.some(isExtensionUri) ||
    metadata.some((entries) => extensionMetadata(entries) !== undefined) ||
    data.some(isConfirmation)
  );
}

function isConfirmation(data: JsonValue): boolean {
  const {
    tool_call_id,
    toolCallId = tool_call_id,
    selected_option_id,
    selectedOptionId = selected_option_id,
  } = objectOf(data);
  return toolCallId !== undefined && selectedOptionId !== undefined;
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
