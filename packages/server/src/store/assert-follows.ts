import type { TaskEvent } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** Throws `Code.Aborted` unless an event is the next of its task after the given sequence. */
export function assertFollows({ taskId, sequence }: TaskEvent, last: bigint): void {
  if (sequence === last + 1n) return;
  throw new DevtoolError(
    `task ${JSON.stringify(taskId)} is at ${last}: event ${sequence} does not follow, somebody else wrote`,
    Code.Aborted,
  );
}
