import type { JsonObject } from "@bufbuild/protobuf";
import { type ToolCallConfirmation, ToolCallConfirmationSchema } from "../gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import { isObject } from "../json.ts";
import { encodeRfcJson } from "../rfc-json.ts";
import { decodeStrictJson } from "../strict-json.ts";
import { WireError } from "../wire-error.ts";

/** Writes an answer. The content of a file is there also when it is empty, so that it cannot be taken for a typing error. */
export function encodeConfirmation(confirmation: ToolCallConfirmation): JsonObject {
  const json = encodeRfcJson(ToolCallConfirmationSchema, confirmation);
  const { modifiedDetails } = confirmation;
  if (modifiedDetails.case !== "fileDetails") return json;
  return { ...json, file_details: { new_content: modifiedDetails.value.newContent } };
}

/**
 * Reads an answer to a question. It decides what runs, so nothing of it is passed over (TOOL-5): an unknown or misplaced
 * field, a field of another type, and file details without their content are errors that name the field behind `path`.
 */
export function decodeConfirmation(data: JsonObject, path: string): ToolCallConfirmation {
  const details = data.file_details ?? data.fileDetails;
  const confirmation = decodeStrictJson(ToolCallConfirmationSchema, data, path, HINTS);
  if (isObject(details) && !("new_content" in details || "newContent" in details)) {
    throw new WireError(
      `${path}.file_details.new_content`,
      "",
      'is missing: send the whole new content of the file, "" for an empty file, or leave file_details out',
    );
  }
  return confirmation;
}

/** Returns whether data is an answer: it names an option. */
export function looksLikeConfirmation(data: object): boolean {
  return "selected_option_id" in data || "selectedOptionId" in data;
}

/** What clients write where the RFC has another form. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["modified_details", "it is the name of a oneof, which JSON does not have: write file_details beside tool_call_id"],
  ["modifiedDetails", "it is the name of a oneof, which JSON does not have: write file_details beside tool_call_id"],
  ["content", 'write "file_details": {"new_content": …}'],
  ["new_content", 'write "file_details": {"new_content": …}'],
  ["newContent", 'write "file_details": {"new_content": …}'],
]);

const WRAPPERS = ["ToolCallConfirmation", "toolCallConfirmation", "tool_call_confirmation"] as const;

/**
 * Throws a `WireError` when data was meant as an answer and cannot be read as one: it is wrapped in the name of the
 * message, or it names a call and nothing else but fields of an answer.
 */
export function assertNoBrokenConfirmation(data: JsonObject, path: string): void {
  const wrapper = WRAPPERS.find((name) => name in data);
  if (wrapper !== undefined) {
    const problem =
      "is the name of the message, not a field: put tool_call_id and selected_option_id directly into data";
    throw new WireError(`${path}.${wrapper}`, "", problem);
  }
  if (namesCall(data) && Object.keys(data).every((key) => OWN_FIELDS.has(key))) throw withoutOption(path);
}

/** The same for data that comes while the task asks: whatever names a call is meant as an answer then. */
export function assertNoBrokenAnswer(data: JsonObject, path: string): void {
  assertNoBrokenConfirmation(data, path);
  if (namesCall(data)) throw withoutOption(path);
  const nested = Object.entries(data).find(
    ([, value]) => isObject(value) && (namesCall(value) || looksLikeConfirmation(value)),
  );
  if (nested) throw new WireError(`${path}.${nested[0]}`, "", "holds an answer: put its fields directly into data");
}

function namesCall(data: JsonObject): boolean {
  return "tool_call_id" in data || "toolCallId" in data;
}

function withoutOption(path: string): WireError {
  return new WireError(`${path}.selected_option_id`, "", "is missing: name one of the options that were offered");
}

const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...["tool_call_id", "toolCallId", "file_details", "fileDetails", "modified_details", "modifiedDetails"],
  ...["option_id", "optionId", "selected_option", "selectedOption", "option", "outcome", "decision"],
]);
