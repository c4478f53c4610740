import { ApprovalMode, stricterMode } from "@devtool/schema";
import { UsageError } from "./errors.ts";

/**
 * The approval modes, by the names that users type. The strictest is `plan`.
 */
export const APPROVAL_MODES: ReadonlyMap<string, ApprovalMode> = new Map([
  ["default", ApprovalMode.DEFAULT],
  ["plan", ApprovalMode.PLAN],
  ["auto-edit", ApprovalMode.AUTO_EDIT],
  ["yolo", ApprovalMode.YOLO],
]);

/**
 * Returns the approval mode of a name; unspecified for none. Throws for an
 * unknown one.
 */
export function approvalModeOf(name: string | undefined): ApprovalMode {
  if (name === undefined) return ApprovalMode.UNSPECIFIED;
  const mode = APPROVAL_MODES.get(name);
  if (mode !== undefined) return mode;
  throw new UsageError(
    `approval mode "${name}" does not exist: choose ${[...APPROVAL_MODES.keys()].join(", ")}`,
  );
}

/** Returns the name of an approval mode. Unspecified means `default`. */
export function approvalModeName(mode: ApprovalMode): string {
  return (
    [...APPROVAL_MODES].find(([, each]) => each === mode)?.[0] ?? "default"
  );
}

/**
 * Throws when a session would allow more than its operator does. A server does
 * not report that: it uses the operator's mode.
 *
 * @param operator undefined where it is not known
 */
export function assertNarrower(
  session: ApprovalMode,
  operator: ApprovalMode | undefined,
): void {
  if (session === ApprovalMode.UNSPECIFIED || operator === undefined) return;
  if (stricterMode(operator, session) === session) return;
  const [wanted, allowed] = [
    approvalModeName(session),
    approvalModeName(operator),
  ];
  throw new Error(
    `approval mode "${wanted}" allows more than "${allowed}", the operator's: leave it out, or change approval_mode of the server`,
  );
}

/**
 * Throws when a message would allow more than the limit of its conversation. A
 * server does not report that: it uses the limit.
 *
 * @param limit `Task.approval_limit`; unspecified where there is none
 */
export function assertWithinLimit(
  mode: ApprovalMode,
  limit: ApprovalMode,
): void {
  if (mode === ApprovalMode.UNSPECIFIED || limit === ApprovalMode.UNSPECIFIED) {
    return;
  }
  if (stricterMode(limit, mode) === mode) return;
  throw new Error(
    `approval mode "${approvalModeName(mode)}" allows more than "${approvalModeName(limit)}", with which this conversation began: a new one may go further`,
  );
}
