import { create } from "@bufbuild/protobuf";
import { type ErrorDetails, ErrorDetailsSchema } from "@devtool/schema";

/** The kinds of failure of a tool call: all that `ErrorDetails.type` may say (TOOL-8). */
export type FailureType =
  | "invalid_tool_params"
  | "tool_not_registered"
  | "policy_violation"
  | "execution_failed"
  | "timeout"
  | "interrupted"
  | "approval_outdated"
  | "mcp_tool_error";

/** Makes the error of a call that failed; the status code is the exit code of a shell command. */
export function toolFailure(type: FailureType, message: string, statusCode?: number): ErrorDetails {
  return create(ErrorDetailsSchema, { type, message, ...(statusCode !== undefined && { statusCode }) });
}
