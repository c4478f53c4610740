import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type ToolCallConfirmation,
  ToolCallConfirmationSchema,
} from "../gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import { ConfirmationSchema } from "../gen/devtool/coder_agent/v1alpha/tool_call_pb.ts";
import { encodeRfcJson } from "../rfc-json.ts";
import { decodeStrictJson } from "../strict-json.ts";

/** Encodes the answer to a confirmation request as the data of a part. */
export function encodeConfirmation({
  toolCallId,
  selectedOptionId,
  modifiedDetails,
}: ToolCallConfirmation): JsonObject {
  return encodeRfcJson(
    ConfirmationSchema,
    create(ConfirmationSchema, {
      callId: toolCallId,
      outcome: selectedOptionId,
      newContent:
        modifiedDetails.case === "fileDetails"
          ? modifiedDetails.value.newContent
          : undefined,
    }),
  );
}

/**
 * Decodes the answer to a confirmation request, strictly, because an answer
 * decides what runs (TOOL-5). An empty `newContent` empties the file.
 *
 * Throws a `WireError` that names a field which is unknown, null or given
 * twice.
 */
export function decodeConfirmation(data: JsonObject): ToolCallConfirmation {
  const { callId, outcome, newContent } = decodeStrictJson(
    ConfirmationSchema,
    data,
    "data",
  );
  return create(ToolCallConfirmationSchema, {
    toolCallId: callId,
    selectedOptionId: outcome,
    modifiedDetails:
      newContent === undefined
        ? { case: undefined }
        : { case: "fileDetails", value: { newContent } },
  });
}
