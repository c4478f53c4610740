import {
  type Message,
  Role,
  type ToolCall,
  toolCallsOf,
} from "@devtool/schema";

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
