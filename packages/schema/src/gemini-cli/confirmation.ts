import { create, type JsonObject } from "@bufbuild/protobuf";
import { type ToolCallConfirmation, ToolCallConfirmationSchema } from "../gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import { ConfirmationSchema } from "../gen/devtool/coder_agent/v1alpha/tool_call_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";

/** Writes the answer to a question as the data of a part. */
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
      newContent: modifiedDetails.case === "fileDetails" ? modifiedDetails.value.newContent : undefined,
    }),
  );
}

/** Tells whether the data of a part answers a question. */
export function isConfirmation(data: JsonObject): boolean {
  return typeof data.callId === "string" && typeof data.outcome === "string";
}

/** Reads the answer to a question; an empty `newContent` makes the file empty. */
export function decodeConfirmation(data: JsonObject): ToolCallConfirmation {
  const { callId, outcome, newContent } = decodeRfcJson(ConfirmationSchema, data);
  return create(ToolCallConfirmationSchema, {
    toolCallId: callId,
    selectedOptionId: outcome,
    modifiedDetails: newContent === undefined ? { case: undefined } : { case: "fileDetails", value: { newContent } },
  });
}
