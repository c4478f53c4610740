import {
  confirmationsOf,
  type FileDiff,
  type Message,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { MEMORY_FILE_NAMES } from "../trust/config-files.ts";
import type { TrustKeeper } from "../trust/trust.ts";

/**
 * Takes the changes of the workspace's memory files that its user approved in a conversation over into the trust of the
 * workspace. A change that ran without asking is left for the operator to look at.
 */
export async function followApproved(
  history: readonly Message[],
  workspacePath: string,
  trust: TrustKeeper,
): Promise<void> {
  const approved = new Set(history.flatMap(confirmationsOf).map(({ toolCallId }) => toolCallId));
  const calls = history.flatMap(toolCallsOf).filter(({ toolCallId }) => approved.has(toolCallId));
  for (const { filePath, oldContent, newContent } of calls.flatMap(changeOf)) {
    if (!MEMORY_FILE_NAMES.includes(filePath)) continue;
    await trust.follow({ directory: workspacePath, path: filePath, before: oldContent, after: newContent });
  }
}

function changeOf({ status, result }: ToolCall): FileDiff[] {
  if (status !== ToolCallStatus.SUCCEEDED || result.case !== "output") return [];
  return result.value.result.case === "diff" ? [result.value.result.value] : [];
}
