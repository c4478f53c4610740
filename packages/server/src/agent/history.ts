import type { Message, Summary } from "@devtool/schema";

/**
 * What a model is told of a conversation: all of it, or from the last summary on, that summary first and then the
 * messages that it keeps word for word. A summary never keeps what stands before an earlier one.
 */
export function modelHistory(history: readonly Message[]): readonly Message[] {
  const at = history.findLastIndex((message) => summaryOf(message) !== undefined);
  const summary = history[at];
  if (!summary) return history;
  const earlier = history.findLastIndex((message, index) => index < at && summaryOf(message) !== undefined);
  const kept = Math.max(0, summaryOf(summary)?.keptMessages ?? 0);
  const from = Math.max(earlier + 1, at - kept);
  return [summary, ...history.slice(from, at), ...history.slice(at + 1)];
}

/** The summary that a message is; undefined for any other message. */
export function summaryOf({ parts }: Message): Summary | undefined {
  for (const { content } of parts) if (content.case === "summary") return content.value;
  return undefined;
}
