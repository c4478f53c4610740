import { TaskState } from "@devtool/schema";
import { ExitCode } from "./exit-code.ts";

/** Returns the exit code for the state of a task. */
export function exitCodeFor(state: TaskState): number {
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
