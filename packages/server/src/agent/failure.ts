import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { type ErrorDetails, ErrorDetailsSchema } from "@devtool/schema";

/**
 * The kinds of failure of a tool call: the values of `ErrorDetails.type`
 * (TOOL-8).
 */
export type FailureType =
  | "invalid_tool_params"
  | "tool_not_registered"
  | "policy_violation"
  | "execution_failed"
  | "timeout"
  | "interrupted"
  | "approval_outdated"
  | "mcp_tool_error";

/**
 * Creates the error result of a failed tool call. Half a surrogate pair in the
 * message becomes U+FFFD.
 *
 * @param statusCode the exit code of a shell command; left out for other tools
 */
export function toolFailure(
  type: FailureType,
  text: string,
  statusCode?: number,
): ErrorDetails {
  const message = text.toWellFormed();
  return create(ErrorDetailsSchema, defined({ type, message, statusCode }));
}
