import {
  type Message,
  Role,
  summaryOf,
  type ToolCall,
  toolCallsOf,
} from "@devtool/schema";

/**
 * Returns the part of a conversation that a model gets.
 *
 * This is the whole conversation if it has no summary. Otherwise it is the last
 * summary, then the messages that this summary keeps verbatim, then the
 * messages after it. Messages before an earlier summary are never kept.
 */
export function modelHistory(history: readonly Message[]): readonly Message[] {
  const summaries: number[] = [];
  for (const [index, message] of history.entries()) {
    if (summaryOf(message)) summaries.push(index);
  }
  return historySince(history, summaries);
}

/**
 * Does the same as `modelHistory` for a caller that knows the indexes of the
 * summaries, in ascending order.
 */
export function historySince(
  history: readonly Message[],
  summaries: readonly number[],
): readonly Message[] {
  const [previousIndex = -1, index = -1] = [-1, ...summaries].slice(-2);
  const summary = history[index];
  if (!summary) return history;
  const kept = Math.max(0, summaryOf(summary)?.keptMessages ?? 0);
  const start = Math.max(previousIndex + 1, index - kept);
  return [summary, ...history.slice(start, index), ...history.slice(index + 1)];
}

/** The input that a model's next step responds to. */
export interface StepStart {
  /**
   * The user's message since the previous step. Undefined when there is none,
   * or when it only answers confirmation requests.
   */
  readonly message: Message | undefined;
  /**
   * The calls of the previous step, all of which have ended. Empty when it
   * requested none.
   */
  readonly results: readonly ToolCall[];
}

/**
 * Finds the input that a model's next step responds to in the history of its
 * request (`ModelRequest.history`).
 */
export function stepStart(history: readonly Message[]): StepStart {
  const last = history.findLastIndex(({ role }) => role === Role.AGENT);
  const previousStep = history[last];
  const message = history
    .slice(last + 1)
    .findLast(
      ({ parts }) =>
        parts.length === 0 ||
        parts.some(({ content }) => content.case !== "confirmation"),
    );
  return { message, results: previousStep ? toolCallsOf(previousStep) : [] };
}
