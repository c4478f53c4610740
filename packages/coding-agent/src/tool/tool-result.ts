import { create } from "@bufbuild/protobuf";
import { type ToolOutput, ToolOutputSchema } from "@devtool/schema";
import { type FailureType, toolFailure } from "@devtool/server/agent";
import type { ToolEvent } from "./tool.ts";

/**
 * Creates the result of a call that returned text. Half a surrogate pair, as a
 * page can have it, becomes U+FFFD.
 */
export function textResult(text: string): ToolEvent {
  return outputResult({ case: "text", value: text.toWellFormed() });
}

/**
 * Creates the result of a call that returned text, an object, or the difference
 * that an edit of a file made.
 */
export function outputResult(result: ToolOutput["result"]): ToolEvent {
  return {
    case: "result",
    value: { case: "output", value: create(ToolOutputSchema, { result }) },
  };
}

/**
 * Creates the result of a failed call. `statusCode` is an exit code or HTTP
 * status.
 */
export function failureResult(
  type: FailureType,
  message: string,
  statusCode?: number,
): ToolEvent {
  return {
    case: "result",
    value: { case: "error", value: toolFailure(type, message, statusCode) },
  };
}
