import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { A2aSendMessageRequest } from "@devtool/schema/a2a-v1";
import type { ExtensionSigns } from "../a2a/extension-signs.ts";

/**
 * Fields of a request of A2A 1.0 by which a client can show that it supports
 * the extension. A method may have none.
 */
export interface SigningRequest {
  readonly metadata?: JsonObject;
  readonly message?: NonNullable<A2aSendMessageRequest["message"]>;
}

/** Collects the extension signs in a request of A2A 1.0 (CARD-3). */
export function extensionSignsV1({
  metadata,
  message,
}: SigningRequest): ExtensionSigns {
  const data = message?.parts.flatMap(({ content }) =>
    content.case === "data" ? [toJson(ValueSchema, content.value)] : [],
  );
  return {
    metadata: [metadata, message?.metadata],
    extensions: message?.extensions ?? [],
    data: data ?? [],
  };
}
