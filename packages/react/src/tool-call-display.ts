import type { JsonObject } from "@bufbuild/protobuf";
import {
  type FileDiff,
  type Part,
  type ToolCall,
  type ToolCallAnswerer,
  ToolCallStatus,
} from "@devtool/schema";

/**
 * A tool call in the form in which user interfaces show it. All texts are
 * foreign: show them as they are, never as markup.
 */
export interface ToolCallDisplay {
  /**
   * The call itself, for what the other fields leave out.
   */
  readonly call: ToolCall;
  /**
   * One line: the description of the call, or the name of its tool.
   */
  readonly title: string;
  /**
   * The state of the call. A `waiting` call has not begun: it is checked, or
   * waits for calls before it. An `asking` one waits for the user. The last
   * three are ends: a `cancelled` call was declined or withdrawn, or ended with
   * its task.
   */
  readonly status:
    | "waiting"
    | "asking"
    | "running"
    | "succeeded"
    | "failed"
    | "cancelled";
  /**
   * The command line of a shell command: the one that the user is asked about,
   * or else the parameter `command` of the call. Undefined for other calls.
   */
  readonly command: string | undefined;
  /**
   * The change to a file that the call proposes or has made. Undefined for
   * other calls.
   */
  readonly diff: FileDiff | undefined;
  /**
   * The text that the tool returned, or else its output so far. It may hold
   * ANSI escape sequences. Empty if there is none.
   */
  readonly output: string;
  /**
   * The result of a tool that returns data. Undefined for others.
   */
  readonly data: JsonObject | undefined;
  /**
   * Why the call failed. Empty if it did not.
   */
  readonly error: string;
  /**
   * Share of the work that is done, from 0 to 1. Undefined if the tool reports
   * none.
   */
  readonly progress: number | undefined;
  /**
   * Who answered the question of the call. Undefined if nobody has.
   */
  readonly answerer: ToolCallAnswerer | undefined;
}

/**
 * Describes the tool call of a part. Undefined for other parts.
 */
export function describeToolCall({
  content,
  toolCallDetail,
}: Part): ToolCallDisplay | undefined {
  if (content.case !== "toolCall") return undefined;
  const call = content.value;
  const { result } = call;
  const output = result.case === "output" ? result.value.result : undefined;
  const asked = call.confirmationRequest?.details;
  const command = call.inputParameters?.command;
  const { done = 0, total = 0 } = toolCallDetail?.progress ?? {};
  return {
    call,
    title: call.description || call.toolName,
    status: statusOf(call),
    command:
      asked?.case === "executeDetails"
        ? asked.value.command
        : typeof command === "string"
          ? command
          : undefined,
    diff:
      output?.case === "diff"
        ? output.value
        : asked?.case === "fileEditDetails"
          ? asked.value
          : undefined,
    output: output?.case === "text" ? output.value : (call.liveContent ?? ""),
    data: output?.case === "structuredData" ? output.value : undefined,
    error: result.case === "error" ? result.value.message : "",
    progress: total > 0 ? Math.min(1, Math.max(0, done / total)) : undefined,
    answerer: toolCallDetail?.answerer,
  };
}

function statusOf({
  status,
  confirmationRequest,
}: ToolCall): ToolCallDisplay["status"] {
  switch (status) {
    case ToolCallStatus.STATUS_UNSPECIFIED:
    case ToolCallStatus.PENDING:
      return confirmationRequest ? "asking" : "waiting";
    case ToolCallStatus.EXECUTING:
      return "running";
    case ToolCallStatus.SUCCEEDED:
      return "succeeded";
    case ToolCallStatus.FAILED:
      return "failed";
    case ToolCallStatus.CANCELLED:
      return "cancelled";
    default:
      return status satisfies never;
  }
}
