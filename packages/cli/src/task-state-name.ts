import { TaskState } from "@devtool/schema";

/** Returns the word for the state of a task. */
export function taskStateName(state: TaskState): string {
  return TaskState[state].toLowerCase().replaceAll("_", "-");
}
