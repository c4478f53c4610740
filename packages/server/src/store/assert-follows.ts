import type { TaskEvent } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/**
 * Throws `Code.Aborted` unless all events are of one task and their sequences
 * follow `last` without a gap. Default: the one before the first of them.
 */
export function assertFollows(
  events: readonly TaskEvent[],
  last: bigint = (events[0]?.sequence ?? 1n) - 1n,
): void {
  const taskId = events[0]?.taskId;
  const stray = events.find(
    (event, index) =>
      event.sequence !== last + BigInt(index + 1) || event.taskId !== taskId,
  );
  if (!stray) return;
  throw new DevtoolError(
    `task ${JSON.stringify(taskId)} is at ${last}: event ${stray.sequence} of task ${JSON.stringify(stray.taskId)} does not follow, there was another writer`,
    Code.Aborted,
  );
}
