import type { TaskEvent } from "@devtool/schema";
import { charactersInEvent } from "./characters-in.ts";

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
 * The weight of a page, which a reader holds while it is slow: that of 512 short
 * events, or of 1 MB of text.
 */
const PAGE_WEIGHT = 512;

/**
 * The newest durable events of a log, kept in memory so that readers who keep
 * up do not read from the store.
 */
export class EventTail {
  #events: TaskEvent[] = [];
  /** The weight of each event. */
  #weights: number[] = [];
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
      const weight = weightOf(event);
      this.#events.push(event);
      this.#weights.push(weight);
      this.#weight += weight;
    }
    this.#end = events.at(-1)?.sequence ?? this.#end;
    if (this.#weight <= MAX_WEIGHT) return;
    // Drops the oldest half by weight, so that trimming costs little per event.
    let drop = 0;
    for (const weight of this.#weights) {
      if (this.#weight <= MAX_WEIGHT / 2) break;
      this.#weight -= weight;
      drop++;
    }
    this.#events = this.#events.slice(drop);
    this.#weights = this.#weights.slice(drop);
  }

  /**
   * Returns a page of the events after a sequence, in order, at least one if
   * there are any. Undefined when the tail does not reach back that far.
   */
  after(sequence: bigint): readonly TaskEvent[] | undefined {
    if (sequence >= this.#end) return [];
    const missing = Number(this.#end - sequence);
    const first = this.#events.length - missing;
    if (first < 0) return undefined;
    let end = first;
    for (let weight = 0; end < this.#events.length; end++) {
      weight += this.#weights[end] ?? 0;
      if (weight > PAGE_WEIGHT && end > first) break;
    }
    return this.#events.slice(first, end);
  }
}

/** Returns the weight of an event, which grows with its size in memory. */
function weightOf(event: TaskEvent): number {
  return 1 + Math.floor(charactersInEvent(event) / CHARACTERS_OF_WEIGHT);
}
