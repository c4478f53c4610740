import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { runDelegated } from "@devtool/coding-agent/delegate";
import {
  type StepRun,
  type Task,
  TaskState,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import { DevtoolError } from "@devtool/server/agent";
import { stepResult } from "./step-result.ts";

/** How the task of an agent ended, as `runDelegated` says it. */
export type ChildEnd = Parameters<
  Parameters<typeof runDelegated>[0]["stepRun"]
>[2];

/** Returns the record of a try whose call has ended. */
export function endedRun(
  begun: StepRun,
  call: ToolCall,
  end: ChildEnd,
  now: Date,
): StepRun {
  const child = end === "unknown" ? undefined : end;
  const { inputTokens = 0n, outputTokens = 0n } = child?.usage ?? {};
  const { result, error } = outcomeOf(call, child);
  return {
    ...begun,
    inputTokens,
    outputTokens,
    isFinal:
      end === "unknown" ||
      child?.state === TaskState.CANCELED ||
      child?.state === TaskState.REJECTED,
    error,
    endTime: timestampFromDate(now),
    ...(result && { result }),
  };
}

/** Returns the result of a try, or why it failed. */
function outcomeOf(
  { status, result }: ToolCall,
  child: Task | undefined,
): { readonly result?: JsonObject; readonly error: string } {
  if (status !== ToolCallStatus.SUCCEEDED || !child) {
    const error = result.case === "error" ? result.value.message : "";
    return { error: error || "it was canceled" };
  }
  try {
    return { result: stepResult(child), error: "" };
  } catch (reason) {
    return { error: DevtoolError.from(reason).message };
  }
}
