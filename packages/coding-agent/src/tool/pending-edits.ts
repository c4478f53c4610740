import type { PendingEdits, ToolInvocation } from "./tool.ts";

/** No pending edits: calls are prepared on the files as they are. */
export const NO_EDITS: PendingEdits = new Map();

/** Returns pending edits with that of a further call, if it edits a file. */
export function withPending(
  pending: PendingEdits,
  invocation: ToolInvocation | undefined,
): PendingEdits {
  const details = invocation?.confirmation;
  if (details?.case !== "fileEditDetails" || !invocation?.edit) return pending;
  return new Map(pending).set(invocation.edit.path, details.value.newContent);
}
