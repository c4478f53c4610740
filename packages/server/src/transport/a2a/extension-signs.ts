import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { isExtensionUri } from "@devtool/schema";
import { extensionMetadata } from "@devtool/schema/a2a-v03";

/**
 * The fields of a request by which a client can show that it supports the
 * extension (CARD-3).
 */
export interface ExtensionSigns {
  /** The `metadata` of the parameters and of the message. */
  readonly metadata: readonly (JsonObject | undefined)[];
  /** The `extensions` of the message: URIs of the extensions that it uses. */
  readonly extensions: readonly string[];
  /** The contents of the message's data parts. */
  readonly data: readonly JsonValue[];
}

/** Collects the extension signs in the parameters of a method of A2A 0.3. */
export function extensionSignsV03(
  params: JsonValue | undefined,
): ExtensionSigns {
  const { metadata, message } = objectOrEmpty(params);
  const { metadata: own, extensions, parts } = objectOrEmpty(message);
  return {
    metadata: [objectOrEmpty(metadata), objectOrEmpty(own)],
    extensions: listOrEmpty(extensions).filter(
      (uri) => typeof uri === "string",
    ),
    data: listOrEmpty(parts).flatMap((part) => objectOrEmpty(part).data ?? []),
  };
}

/**
 * Returns whether a request shows that its client supports the extension.
 *
 * It does if it has metadata under the extension's URI, lists that URI, or
 * holds the answer to a confirmation request.
 */
export function showsExtension({
  metadata,
  extensions,
  data,
}: ExtensionSigns): boolean {
  return (
    extensions.some(isExtensionUri) ||
    metadata.some((entries) => extensionMetadata(entries) !== undefined) ||
    data.some((entry) => {
      const fields = objectOrEmpty(entry);
      const namesCall = "toolCallId" in fields || "tool_call_id" in fields;
      const namesOption =
        "selectedOptionId" in fields || "selected_option_id" in fields;
      return namesCall && namesOption;
    })
  );
}
