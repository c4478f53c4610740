import type { JsonObject } from "@bufbuild/protobuf";
import { toJson } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { encodePart } from "../a2a-v03/part.ts";
import { PartSchema as A2aPartSchema } from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import type { Part } from "../gen/devtool/v1alpha/task_pb.ts";
import { encodeConfirmation } from "./confirmation.ts";
import { encodeGeminiCliCall } from "./tool-call.ts";

/**
 * Encodes a part as one of A2A 0.3 with the dialect's data. Undefined for a
 * part without content.
 */
export function encodeGeminiCliPart(part: Part): JsonObject | undefined {
  const { content } = part;
  switch (content.case) {
    case "toolCall":
      return {
        kind: "data",
        data: encodeGeminiCliCall(content.value, part.toolCallDetail),
      };
    case "confirmation":
      return { kind: "data", data: encodeConfirmation(content.value) };
    default: {
      const plain = encodePart(part);
      const json = plain && toJson(A2aPartSchema, plain);
      return isObject(json) ? json : undefined;
    }
  }
}
