import type { TaskEvent } from "@devtool/schema";

/**
 * Returns the number of characters and bytes in an event: its size in memory,
 * where that is large.
 */
export function charactersInEvent({
  payload,
  toolCallDetail,
}: TaskEvent): number {
  // By far the most frequent one.
  return payload.case === "text"
    ? payload.value.text.length
    : charactersIn([payload, toolCallDetail]);
}

/**
 * Returns the number of characters and bytes in a value, which may be nested to
 * any depth.
 */
export function charactersIn(value: unknown): number {
  let sum = 0;
  const parts = [value];
  while (parts.length > 0) {
    const part = parts.pop();
    if (typeof part === "string" || part instanceof Uint8Array) {
      sum += part.length;
    } else if (typeof part === "object" && part !== null) {
      for (const inner of Object.values(part)) parts.push(inner);
    }
  }
  return sum;
}
