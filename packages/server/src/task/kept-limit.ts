import { ApprovalMode } from "@devtool/schema";

/**
 * Returns the widest approval mode of a task, by its log. Earlier versions did
 * not record it: a task of theirs asks, whatever the operator allows by now.
 *
 * @param operatorMode unspecified for an agent that has no such modes
 */
export function keptLimit(
  recorded: ApprovalMode,
  operatorMode: ApprovalMode,
): ApprovalMode {
  return operatorMode === ApprovalMode.UNSPECIFIED
    ? recorded
    : recorded || ApprovalMode.DEFAULT;
}
