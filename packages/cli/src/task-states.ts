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

/** Those in which a task has ended. */
export const ENDED_STATES: readonly string[] = [
  "completed",
  "failed",
  "canceled",
  "rejected",
];
