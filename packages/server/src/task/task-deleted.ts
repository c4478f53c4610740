import { shorten } from "@devtool/internal/cut-text";
import { Code, DevtoolError, quoted } from "../errors.ts";

/** Creates the error with which the readers of a deleted task end. */
export function taskDeleted(taskId: string): DevtoolError {
  return new DevtoolError(`task ${quoted(taskId)} was deleted`, Code.NotFound, {
    details: { field: "task_id", value: shorten(taskId) },
  });
}
