import type {
  PermissionOption,
  PermissionOptionKind,
} from "@agentclientprotocol/sdk";
import {
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
  oneLine,
  type ToolCall,
  visibleCall,
} from "@devtool/schema";

const KINDS: ReadonlyMap<string, PermissionOptionKind> = new Map([
  [OPTION_PROCEED_ONCE, "allow_once"],
  // Not `allow_once`: clients that approve by themselves choose that kind, and
  // this option allows more than a plain yes.
  [OPTION_PROCEED_WITHOUT_SANDBOX, "allow_always"],
  [OPTION_PROCEED_ALWAYS, "allow_always"],
  [OPTION_PROCEED_ALWAYS_TOOL, "allow_always"],
  [OPTION_PROCEED_ALWAYS_SERVER, "allow_always"],
  [OPTION_PROCEED_ALWAYS_AND_SAVE, "allow_always"],
  [OPTION_CANCEL, "reject_once"],
]);

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
    .map(({ id, name, description }) => {
      const label = name || oneLine(id);
      return {
        optionId: id,
        name: description === undefined ? label : `${label}: ${description}`,
        kind: kindOf(id),
      };
    });
}

/**
 * Returns the kind of an option.
 *
 * Clients that decline without asking their user choose `reject_once`. Only
 * `cancel` has that kind, so that they never choose an option whose id we do
 * not know.
 */
function kindOf(optionId: string): PermissionOptionKind {
  const known = KINDS.get(optionId);
  if (known) return known;
  const isAlways = /always|session|task|sandbox|all([_-]|$)/i.test(optionId);
  if (/^(proceed|allow|approve|accept)/i.test(optionId)) {
    return isAlways ? "allow_always" : "allow_once";
  }
  return "reject_always";
}
