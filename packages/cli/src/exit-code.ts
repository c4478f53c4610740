import { TaskState } from "@devtool/schema";

/** How the command ends: 0 when all went well. */
export const ExitCode = {
  OK: 0,
  /** The task, or the command itself, failed. */
  FAILED: 1,
  /** The command line cannot be understood. */
  USAGE: 2,
  /** The task waits for its user, because nobody could be asked. */
  INPUT_REQUIRED: 3,
  /** The task was canceled. */
  CANCELED: 130,
} as const;

/** The exit code that a task's state stands for. */
export function exitCodeOf(state: TaskState): number {
  switch (state) {
    case TaskState.COMPLETED:
      return ExitCode.OK;
    case TaskState.CANCELED:
      return ExitCode.CANCELED;
    case TaskState.INPUT_REQUIRED:
    case TaskState.AUTH_REQUIRED:
      return ExitCode.INPUT_REQUIRED;
    default:
      return ExitCode.FAILED;
  }
}
