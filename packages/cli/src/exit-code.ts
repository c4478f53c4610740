import { TaskState } from "@devtool/schema";

/** How the command ends: 0 when all went well. */
export const ExitCode = {
  OK: 0,
  /** The task, or the command itself, failed. */
  FAILED: 1,
  /** The command line cannot be understood. */
  USAGE: 2,
  /** The agent asked and nobody could be asked: the task waits for its user, or what it asked for was declined. */
  INPUT_REQUIRED: 3,
  /** The task was canceled. */
  CANCELED: 130,
  /** Whoever read the output closed it before its end; the code that shells give to such a command (128 + SIGPIPE). */
  OUTPUT_CLOSED: 141,
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
