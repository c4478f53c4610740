import type { Message } from "./gen/devtool/v1alpha/task_pb.ts";

/**
 * The ids of tool calls by the history that they are in, for histories that `reduceTask` made. A set may hold more ids than
 * its history, as when two tasks were folded from one, and never fewer. It answers for a new call, which would otherwise be
 * looked for in every message: ten calls in a task of 3,000 turns took three times as long.
 */
const CALL_IDS = new WeakMap<readonly Message[], Set<string>>();

/** Whether a history may hold a call: false says that it does not. */
export function mayHoldCall(history: readonly Message[], toolCallId: string): boolean {
  return CALL_IDS.get(history)?.has(toolCallId) ?? true;
}

/** Notes the calls of a history that was made of another one and of calls with these ids. */
export function noteCalls(before: readonly Message[], after: readonly Message[], added: readonly string[]): void {
  const known = CALL_IDS.get(before) ?? (before.length === 0 ? new Set<string>() : undefined);
  if (!known) return;
  for (const toolCallId of added) known.add(toolCallId);
  CALL_IDS.set(after, known);
}
