import { create } from "@bufbuild/protobuf";
import { type FileDiff, ToolOutputSchema } from "@devtool/schema";
import { type FailureType, toolFailure } from "@devtool/server/agent";
import type { ToolEvent } from "./tool.ts";

/** The result of a call that gave text. */
export function textResult(text: string): ToolEvent {
  const value = create(ToolOutputSchema, { result: { case: "text", value: text } });
  return { case: "result", value: { case: "output", value } };
}

/** The result of a call that changed a file. */
export function diffResult(diff: FileDiff): ToolEvent {
  const value = create(ToolOutputSchema, { result: { case: "diff", value: diff } });
  return { case: "result", value: { case: "output", value } };
}

/** The result of a call that failed. */
export function failureResult(type: FailureType, message: string, statusCode?: number): ToolEvent {
  return { case: "result", value: { case: "error", value: toolFailure(type, message, statusCode) } };
}
