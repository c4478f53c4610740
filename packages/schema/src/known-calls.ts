import type { Message } from "./gen/devtool/v1alpha/task_pb.ts";

/**
 * Ids of the tool calls in a history that `reduceTask` created.
 *
 * A set may have more ids than its history, if two tasks were folded from the
 * same one, but never fewer. It avoids searching every message for a new call:
 * ten calls in a task of 3,000 turns took three times as long.
 */
const CALL_IDS = new WeakMap<readonly Message[], Set<string>>();

/**
 * Returns whether a history may contain a call. False means that it does not.
 */
export function mayHoldCall(
  history: readonly Message[],
  toolCallId: string,
): boolean {
  return CALL_IDS.get(history)?.has(toolCallId) ?? true;
}

/**
 * Records the ids of the calls in a history that was derived from another one
 * by adding calls.
 */
export function noteCalls(
  before: readonly Message[],
  after: readonly Message[],
  added: readonly string[],
): void {
  if (after === before && added.length === 0) return;
  const known =
    CALL_IDS.get(before) ??
    (before.length === 0 ? new Set<string>() : undefined);
  if (!known) return;
  for (const toolCallId of added) known.add(toolCallId);
  CALL_IDS.set(after, known);
}
