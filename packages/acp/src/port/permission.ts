import type {
  PermissionOption,
  PermissionOptionKind,
} from "@agentclientprotocol/sdk";
import {
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_REJECT,
  reachOfAnswer,
  type ToolCall,
  visibleCall,
} from "@devtool/schema";

/**
 * Lists the options of a call's question as ACP has them, in the order in which
 * they are offered.
 *
 * Left out is the option that asks again with content of the user, because
 * ACP's answer cannot carry content.
 */
export function permissionOptions(call: ToolCall): PermissionOption[] {
  const offered = visibleCall(call).confirmationRequest?.options ?? [];
  return offered
    .filter(({ id }) => id !== OPTION_MODIFY_WITH_EDITOR)
    .map(({ id, name, description }) => ({
      optionId: id,
      name: description === undefined ? name : `${name}: ${description}`,
      kind: kindOf(id),
    }));
}

/**
 * Returns the kind of an option.
 *
 * Clients that decline without asking their user choose `reject_once`. Only
 * `cancel` and `reject` have that kind, so that they never choose an option
 * whose id we do not know.
 */
function kindOf(optionId: string): PermissionOptionKind {
  switch (reachOfAnswer(optionId)) {
    case "once":
      return "allow_once";
    // Not `allow_once`: clients that approve by themselves choose that kind,
    // and these options allow more than a plain yes.
    case "always":
    case "without_sandbox":
      return "allow_always";
    default:
      return [OPTION_CANCEL, OPTION_REJECT].includes(optionId)
        ? "reject_once"
        : "reject_always";
  }
}
