import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { TaskEvent } from "@devtool/schema";
import { invalid } from "../errors.ts";

/** Where a task stands in a list: the latest changed first, those of one millisecond by descending id. */
export interface ListPosition {
  /** When the task's last event was appended, in milliseconds of Unix time. */
  readonly timeMs: number;
  readonly taskId: string;
}

/** Reads the place of a task off its last event. */
export function positionOf({ time, taskId }: TaskEvent): ListPosition {
  return { timeMs: time ? timestampMs(time) : 0, taskId };
}

/** Sorts earlier places of a list first. */
export function comparePositions(one: ListPosition, other: ListPosition): number {
  if (one.timeMs !== other.timeMs) return other.timeMs - one.timeMs;
  return one.taskId === other.taskId ? 0 : one.taskId < other.taskId ? 1 : -1;
}

/** Writes a place as the cursor that continues a list after it. */
export function encodeCursor({ timeMs, taskId }: ListPosition): string {
  return JSON.stringify([timeMs, taskId]);
}

/** Reads a cursor; throws `Code.InvalidArgument` for a text that is none. */
export function decodeCursor(cursor: string): ListPosition {
  try {
    const [timeMs, taskId]: unknown[] = JSON.parse(cursor);
    if (typeof timeMs === "number" && typeof taskId === "string") return { timeMs, taskId };
  } catch {
    // Falls through to the error that names the token.
  }
  throw invalid("page_token", cursor, "is not a page token of this server", "start at the first page");
}
