import type { TaskEvent } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** Throws `Code.Aborted` unless events are the next of one task, in order and without a gap, after the given sequence. */
export function assertFollows(events: readonly TaskEvent[], last: bigint): void {
  const taskId = events[0]?.taskId;
  const stray = events.find((event, index) => event.sequence !== last + BigInt(index + 1) || event.taskId !== taskId);
  if (!stray) return;
  throw new DevtoolError(
    `task ${JSON.stringify(taskId)} is at ${last}: event ${stray.sequence} of task ${JSON.stringify(stray.taskId)} does not follow, somebody else wrote`,
    Code.Aborted,
  );
}
