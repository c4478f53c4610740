import { relative, resolve } from "node:path/posix";
import {
  confirmationsOf,
  type Message,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import type { CommandPlace } from "@devtool/server/agent";
import { MEMORY_FILE_NAMES } from "../trust/config-files.ts";
import type { TrustKeeper } from "../trust/trust.ts";

/** The trust to update after an approval. */
export interface OperatorTrust {
  readonly trust: TrustKeeper;
  /**
   * The principal who owns the trust. Approvals by other principals do not
   * change it.
   */
  readonly operator: string | undefined;
}

/**
 * Updates the trust of a workspace with the changes of its memory files that
 * the operator approved in a conversation.
 *
 * A change that ran without approval, or that another principal approved, stays
 * untrusted until the operator reviews it.
 */
export async function trustApprovedChanges(
  history: readonly Message[],
  { workspacePath, principal }: CommandPlace,
  { trust, operator }: OperatorTrust,
): Promise<void> {
  if (principal !== operator) return;
  const approved = new Set(
    history.flatMap(confirmationsOf).map(({ toolCallId }) => toolCallId),
  );
  for (const { toolCallId, status, result } of history.flatMap(toolCallsOf)) {
    if (
      !approved.has(toolCallId) ||
      status !== ToolCallStatus.SUCCEEDED ||
      result.case !== "output"
    ) {
      continue;
    }
    const output = result.value.result;
    if (output.case !== "diff") continue;
    const { filePath, oldContent, newContent } = output.value;
    const path = relative(workspacePath, resolve(workspacePath, filePath));
    if (!MEMORY_FILE_NAMES.includes(path)) continue;
    await trust.follow({
      directory: workspacePath,
      path,
      before: oldContent,
      after: newContent,
    });
  }
}
