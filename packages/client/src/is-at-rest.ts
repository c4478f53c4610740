import { isInterrupted, isTerminal, type Task } from "@devtool/schema";

/**
 * Whether a task, or the event after which it is in a state, leaves nothing for the agent to do: the task has ended or
 * waits for its user.
 */
export function isAtRest({ state }: Pick<Task, "state">): boolean {
  return isTerminal(state) || isInterrupted(state);
}
