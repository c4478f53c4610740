import { toJson } from "@bufbuild/protobuf";
import {
  FileDiffSchema,
  type ToolCall,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";

/**
 * Returns the result of a call that has ended as text, or why it has none.
 * Empty if the tool gave none.
 */
export function resultTextOf({ status, result }: ToolCall): string {
  if (status === ToolCallStatus.CANCELLED) {
    return "The call was declined or canceled.";
  }
  if (result.case === "error") return result.value.message;
  if (result.case !== "output") return "";
  const { result: output } = result.value;
  switch (output.case) {
    case "text":
      return output.value;
    case "structuredData":
      return JSON.stringify(output.value);
    case "diff":
      return (
        output.value.formattedDiff ??
        JSON.stringify(toJson(FileDiffSchema, output.value))
      );
    case undefined:
      return "";
    default:
      return output satisfies never;
  }
}
