import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ExtensionSigns } from "../a2a-v03/extension-signs.ts";
import type { Message } from "../gen/lf/a2a/v1/a2a_pb.ts";

/** The fields of a request of A2A 1.0 that can show that its sender knows the extension; a method may have none of them. */
export interface SigningRequest {
  readonly metadata?: JsonObject;
  readonly message?: Message;
}

/** Finds in a request of A2A 1.0 what shows that its sender knows the extension (CARD-3). */
export function signsOf({ metadata, message }: SigningRequest): ExtensionSigns {
  const data = message?.parts.flatMap(({ content }) =>
    content.case === "data" ? [toJson(ValueSchema, content.value)] : [],
  );
  return { metadata: [metadata, message?.metadata], extensions: message?.extensions ?? [], data: data ?? [] };
}
