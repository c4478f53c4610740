import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ExtensionSigns } from "../a2a-v03/extension-signs.ts";
import type { Message } from "../gen/lf/a2a/v1/a2a_pb.ts";

/**
 * Fields of a request of A2A 1.0 by which a client can show that it supports
 * the extension. A method may have none.
 */
export interface SigningRequest {
  readonly metadata?: JsonObject;
  readonly message?: Message;
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
