import { create, type JsonObject } from "@bufbuild/protobuf";
import { type FileDiff, type ToolOutput, ToolOutputSchema } from "@devtool/schema";
import { type FailureType, toolFailure } from "@devtool/server/agent";
import type { ToolEvent } from "./tool.ts";

/** Creates the result of a call that returned text. */
export function textResult(text: string): ToolEvent {
  return outputResult({ case: "text", value: text });
}

/** Creates the result of a call that returned an object. */
export function dataResult(data: JsonObject): ToolEvent {
  return outputResult({ case: "structuredData", value: data });
}

/** Creates the result of a call that edited a file. */
export function diffResult(diff: FileDiff): ToolEvent {
  return outputResult({ case: "diff", value: diff });
}

/** Creates the result of a failed call. `statusCode` is an exit code or HTTP status. */
export function failureResult(type: FailureType, message: string, statusCode?: number): ToolEvent {
  return { case: "result", value: { case: "error", value: toolFailure(type, message, statusCode) } };
}

function outputResult(result: ToolOutput["result"]): ToolEvent {
  return { case: "result", value: { case: "output", value: create(ToolOutputSchema, { result }) } };
}
