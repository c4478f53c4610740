import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import {
  type ToolCallConfirmation,
  ToolCallConfirmationSchema,
} from "../gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import { encodeRfcJson } from "../rfc-json.ts";
import { decodeStrictJson, type Hints } from "../strict-json.ts";
import { missing, WireError } from "../wire-error.ts";

/** Remedies for common mistakes, by the name of the unknown field. */
const HINTS: Hints = {
  get: (key) => {
    if (/^modified_?details$/i.test(key)) {
      return "it is the name of a oneof, which JSON does not have: write file_details beside tool_call_id";
    }
    return /^(new_?)?content$/i.test(key)
      ? 'write "file_details": {"new_content": …}'
      : undefined;
  },
};

/**
 * The name of the message, in the forms in which clients wrap an answer in it
 * by mistake.
 */
const WRAPPERS = [
  "ToolCallConfirmation",
  "toolCallConfirmation",
  "tool_call_confirmation",
] as const;

/**
 * The fields of an answer without the selected option, and names that clients
 * write in place of it.
 */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "tool_call_id",
  "toolCallId",
  "file_details",
  "fileDetails",
  "modified_details",
  "modifiedDetails",
  "option_id",
  "optionId",
  "selected_option",
  "selectedOption",
  "option",
  "outcome",
  "decision",
]);

/**
 * Encodes the answer to a confirmation request.
 *
 * The new content of a file is written even if it is empty: the decoder takes a
 * missing one for a misspelled name.
 */
export function encodeConfirmation(
  confirmation: ToolCallConfirmation,
): JsonObject {
  const json = encodeRfcJson(ToolCallConfirmationSchema, confirmation);
  const { modifiedDetails } = confirmation;
  if (modifiedDetails.case !== "fileDetails") return json;
  return {
    ...json,
    file_details: { new_content: modifiedDetails.value.newContent },
  };
}

/**
 * Decodes the answer to a confirmation request, strictly (TOOL-5).
 *
 * An answer decides what runs, so nothing in it is ignored. Unknown or
 * misplaced fields, fields of the wrong type, and file details without content
 * are errors, which name the field below `path`.
 */
export function decodeConfirmation(
  data: JsonObject,
  path: string,
): ToolCallConfirmation {
  const details = data.file_details ?? data.fileDetails;
  const confirmation = decodeStrictJson(
    ToolCallConfirmationSchema,
    data,
    path,
    { hints: HINTS },
  );
  if (
    isObject(details) &&
    !("new_content" in details || "newContent" in details)
  ) {
    throw missing(
      `${path}.file_details.new_content`,
      'send the whole new content of the file, "" for an empty file, or leave file_details out',
    );
  }
  return confirmation;
}

/**
 * Returns whether the data of a part is the answer to a confirmation request:
 * it selects an option.
 */
export function looksLikeConfirmation(data: object): boolean {
  return "selected_option_id" in data || "selectedOptionId" in data;
}

/**
 * Throws a `WireError` for data that was meant as an answer but cannot be
 * decoded as one.
 *
 * Such data is wrapped in the name of the message, or it has a tool call id and
 * only other fields of an answer.
 */
export function assertNoBrokenConfirmation(
  data: JsonObject,
  path: string,
): void {
  const wrapper = WRAPPERS.find((name) => name in data);
  if (wrapper !== undefined) {
    const problem =
      "is the name of the message, not a field: put tool_call_id and selected_option_id directly into data";
    throw new WireError(`${path}.${wrapper}`, "", problem);
  }
  if (
    hasToolCallId(data) &&
    Object.keys(data).every((key) => OWN_FIELDS.has(key))
  ) {
    throw missingOption(path);
  }
}

/**
 * Throws a `WireError` for data that was meant as an answer, in a message to a
 * task that waits for one.
 *
 * This is stricter than `assertNoBrokenConfirmation`: while a task waits, any
 * data with a tool call id was meant as an answer, even if it has other fields,
 * and so was an object in the data that holds one.
 */
export function assertNoBrokenAnswer(data: JsonObject, path: string): void {
  assertNoBrokenConfirmation(data, path);
  if (hasToolCallId(data)) throw missingOption(path);
  const nested = Object.entries(data).find(
    ([, value]) =>
      isObject(value) && (hasToolCallId(value) || looksLikeConfirmation(value)),
  );
  if (nested) {
    throw new WireError(
      `${path}.${nested[0]}`,
      "",
      "holds an answer: put its fields directly into data",
    );
  }
}

function hasToolCallId(data: JsonObject): boolean {
  return "tool_call_id" in data || "toolCallId" in data;
}

function missingOption(path: string): WireError {
  return missing(
    `${path}.selected_option_id`,
    "name one of the options that were offered",
  );
}
