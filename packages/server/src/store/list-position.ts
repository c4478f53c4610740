import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { TaskEvent } from "@devtool/schema";
import { invalid } from "../errors.ts";

/**
 * The position of a task in a list, which is sorted by descending time of the
 * last change, then by descending id.
 */
export interface ListPosition {
  /** The time of the task's last event in milliseconds since 1970. */
  readonly timeMs: number;
  readonly taskId: string;
}

/** Returns the position of a task, from its last event. */
export function positionOf({ time, taskId }: TaskEvent): ListPosition {
  return { timeMs: time ? timestampMs(time) : 0, taskId };
}

/**
 * Compares two positions for `Array.sort`: negative when the first one comes
 * earlier in a list.
 */
export function comparePositions(
  one: ListPosition,
  other: ListPosition,
): number {
  if (one.timeMs !== other.timeMs) return other.timeMs - one.timeMs;
  return one.taskId === other.taskId ? 0 : one.taskId < other.taskId ? 1 : -1;
}

/** Encodes a position as the cursor that continues a list after it. */
export function encodeCursor({ timeMs, taskId }: ListPosition): string {
  return JSON.stringify([timeMs, taskId]);
}

/** Decodes a cursor. Throws `Code.InvalidArgument` for any other text. */
export function decodeCursor(cursor: string): ListPosition {
  try {
    const [timeMs, taskId]: unknown[] = JSON.parse(cursor);
    if (typeof timeMs === "number" && typeof taskId === "string") {
      return { timeMs, taskId };
    }
  } catch {
    // Falls through to the error that quotes the token.
  }
  throw invalid(
    "page_token",
    cursor,
    "is not a page token of this server",
    "start at the first page",
  );
}
