import type { PermissionOption, PermissionOptionKind } from "@agentclientprotocol/sdk";
import {
  type ConfirmationOption,
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
  type ToolCall,
} from "@devtool/schema";

const KINDS: ReadonlyMap<string, PermissionOptionKind> = new Map([
  [OPTION_PROCEED_ONCE, "allow_once"],
  // It goes further than a plain yes, which a client that approves once by itself would take it for.
  [OPTION_PROCEED_WITHOUT_SANDBOX, "allow_always"],
  [OPTION_PROCEED_ALWAYS, "allow_always"],
  [OPTION_PROCEED_ALWAYS_TOOL, "allow_always"],
  [OPTION_PROCEED_ALWAYS_SERVER, "allow_always"],
  [OPTION_PROCEED_ALWAYS_AND_SAVE, "allow_always"],
  [OPTION_CANCEL, "reject_once"],
]);

/**
 * Lists the options of a call's question as ACP has them, in the order in which they are offered.
 *
 * Left out is the option that asks again with content of the user, because ACP's answer cannot carry content.
 */
export function permissionOptions({ confirmationRequest }: ToolCall): PermissionOption[] {
  const offered = confirmationRequest?.options ?? [];
  return offered
    .filter(({ id }) => id !== OPTION_MODIFY_WITH_EDITOR)
    .map((option) => ({ optionId: option.id, name: labelOf(option), kind: kindOf(option.id) }));
}

function labelOf({ id, name, description }: ConfirmationOption): string {
  const label = name || id;
  return description === undefined ? label : `${label}: ${description}`;
}

/**
 * A client that approves or declines by itself must not choose an option with an id that we do not know: it declines with
 * `reject_once`, which only `cancel` is.
 */
function kindOf(optionId: string): PermissionOptionKind {
  const known = KINDS.get(optionId);
  if (known) return known;
  const isAlways = /always|session|task|sandbox|all([_-]|$)/i.test(optionId);
  if (/^(proceed|allow|approve|accept)/i.test(optionId)) return isAlways ? "allow_always" : "allow_once";
  return "reject_always";
}
