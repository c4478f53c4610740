import { TaskState } from "@devtool/schema";

/** The states of tasks, in the words that lists print and `--state` takes. */
export const TASK_STATES: readonly string[] = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "failed",
  "canceled",
  "rejected",
];

/** Returns the word for the state of a task. */
export function taskStateName(state: TaskState): string {
  return TaskState[state].toLowerCase().replaceAll("_", "-");
}
