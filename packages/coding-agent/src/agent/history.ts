import { type Message, summaryOf } from "@devtool/schema";

/**
 * What a model is told of a conversation: all of it, or from the last summary on, that summary first and then the
 * messages that it keeps word for word. A summary never keeps what stands before an earlier one.
 */
export function modelHistory(history: readonly Message[]): readonly Message[] {
  return historySince(
    history,
    history.flatMap((message, index) => (summaryOf(message) ? [index] : [])),
  );
}

/** The same, where it is known at which indexes the summaries are. */
export function historySince(history: readonly Message[], summaries: readonly number[]): readonly Message[] {
  const [earlier = -1, at = -1] = [-1, ...summaries].slice(-2);
  const summary = history[at];
  if (!summary) return history;
  const kept = Math.max(0, summaryOf(summary)?.keptMessages ?? 0);
  const from = Math.max(earlier + 1, at - kept);
  return [summary, ...history.slice(from, at), ...history.slice(at + 1)];
}
