/** Codes of Connect: what a store that cannot write fails with. */
const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;

/**
 * Whether what a call began elsewhere ends when the turn of the call ends with
 * a reason. It does after a cancellation, a timeout and a budget. It does not
 * when the server stops or the log of the task has failed: then the call goes
 * on later, and follows that work.
 *
 * @param reason the reason of the signal of the turn
 */
export function endsWork(reason: unknown): boolean {
  if (!(reason instanceof Error) || reason instanceof DOMException) return true;
  // A store may fail with any error.
  if (reason.name !== "DevtoolError" || !("code" in reason)) return false;
  const isBudget = "isOfGoal" in reason;
  return (
    isBudget ||
    (reason.code !== UNAVAILABLE && reason.code !== RESOURCE_EXHAUSTED)
  );
}
