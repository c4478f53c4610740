import type { TaskEvent } from "@devtool/schema";

/**
 * The maximum weight of a tail: that of 4,096 short events, or of 8 MB of text.
 */
const MAX_WEIGHT = 4096;
/**
 * An event weighs 1, and 1 more for this many characters or bytes in it.
 * Transports keep what they have encoded of it as long as it is kept.
 */
const CHARACTERS_OF_WEIGHT = 2048;

/**
 * The newest durable events of a log, kept in memory so that readers who keep
 * up do not read from the store.
 */
export class EventTail {
  #events: TaskEvent[] = [];
  #weight = 0;
  /** The sequence of the newest event. */
  #end: bigint;

  /** @param end the sequence after which the tail begins, empty */
  constructor(end: bigint) {
    this.#end = end;
  }

  /**
   * Adds the next events, and drops the oldest ones when the tail gets too
   * heavy.
   */
  push(events: readonly TaskEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#weight += weightOf(event);
    }
    this.#end = events.at(-1)?.sequence ?? this.#end;
    if (this.#weight <= MAX_WEIGHT) return;
    // Drops the oldest half by weight, so that trimming costs little per event.
    let drop = 0;
    for (const event of this.#events) {
      if (this.#weight <= MAX_WEIGHT / 2) break;
      this.#weight -= weightOf(event);
      drop++;
    }
    this.#events = this.#events.slice(drop);
  }

  /**
   * Returns the events after a sequence, in order. Undefined when the tail does
   * not reach back that far.
   */
  after(sequence: bigint): readonly TaskEvent[] | undefined {
    if (sequence >= this.#end) return [];
    const missing = Number(this.#end - sequence);
    return missing <= this.#events.length
      ? this.#events.slice(-missing)
      : undefined;
  }
}

/** Returns the weight of an event, which grows with its size in memory. */
function weightOf(event: TaskEvent): number {
  return 1 + Math.floor(charactersIn(event) / CHARACTERS_OF_WEIGHT);
}

/**
 * Returns the number of characters and bytes in an event: its size in memory,
 * where that is large. Arguments may be nested to any depth.
 */
function charactersIn({ payload, toolCallDetail }: TaskEvent): number {
  // By far the most frequent one.
  if (payload.case === "text") return payload.value.text.length;
  let sum = 0;
  const parts: unknown[] = [payload, toolCallDetail];
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
