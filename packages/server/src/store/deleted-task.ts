import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import type { TaskDeletion } from "./task-store.ts";

/**
 * The time in milliseconds for which the ids of the messages of a deleted task
 * are kept, at least.
 */
export const DELETED_MESSAGE_MS: number = 24 * 3_600_000;

/** Returns the event that stands for a message of a deleted task. */
export function deletedMessage(taskId: string, deletedMs: number): TaskEvent {
  const time = timestampFromMs(deletedMs);
  return create(TaskEventSchema, { taskId, time });
}

/** Creates the error of a deletion whose sequence is not that of the log. */
export function notAtSequence({
  taskId,
  sequence,
}: Pick<TaskDeletion, "taskId" | "sequence">): DevtoolError {
  return new DevtoolError(
    `task ${quoted(taskId)} does not end at event ${sequence}: it has changed or is gone`,
    Code.Aborted,
    { remedy: "read it again" },
  );
}
