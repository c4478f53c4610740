import { pathInWorkspace } from "@devtool/policy";
import {
  confirmationsOf,
  type FileDiff,
  type Message,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import type { CommandPlace } from "@devtool/server/agent";
import { MEMORY_FILE_NAMES } from "../trust/config-files.ts";
import type { TrustKeeper } from "../trust/trust.ts";

/** Whose trust follows what is approved. */
export interface Following {
  readonly trust: TrustKeeper;
  /** The principal whose trust it is: what another one approves changes nothing of it. */
  readonly operator: string | undefined;
}

/**
 * Takes the changes of the workspace's memory files that the operator approved in a conversation over into the trust of the
 * workspace. A change that ran without asking, or that somebody else approved, is left for the operator to look at.
 */
export async function followApproved(
  history: readonly Message[],
  { workspacePath, principal }: CommandPlace,
  { trust, operator }: Following,
): Promise<void> {
  if (principal !== operator) return;
  const approved = new Set(history.flatMap(confirmationsOf).map(({ toolCallId }) => toolCallId));
  const calls = history.flatMap(toolCallsOf).filter(({ toolCallId }) => approved.has(toolCallId));
  for (const { filePath, oldContent, newContent } of calls.flatMap(changeOf)) {
    const path = pathInWorkspace(filePath, workspacePath);
    if (!MEMORY_FILE_NAMES.includes(path)) continue;
    await trust.follow({ directory: workspacePath, path, before: oldContent, after: newContent });
  }
}

function changeOf({ status, result }: ToolCall): FileDiff[] {
  if (status !== ToolCallStatus.SUCCEEDED || result.case !== "output") return [];
  return result.value.result.case === "diff" ? [result.value.result.value] : [];
}
