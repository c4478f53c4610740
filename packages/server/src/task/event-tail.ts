import type { TaskEvent } from "@devtool/schema";

/** The maximum weight of a tail. An event weighs 1, one with a tool call more, because its output can be large. */
const MAX_WEIGHT = 4096;
const TOOL_CALL_WEIGHT = 64;

/** The newest durable events of a log, kept in memory so that readers who keep up do not read from the store. */
export class EventTail {
  #events: TaskEvent[] = [];
  #weight = 0;
  /** The sequence of the newest event. */
  #end: bigint;

  /** @param end the sequence after which the tail begins, empty */
  constructor(end: bigint) {
    this.#end = end;
  }

  /** Adds the next events, and drops the oldest ones when the tail gets too heavy. */
  push(events: readonly TaskEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#weight += weigh(event);
    }
    this.#end = events.at(-1)?.sequence ?? this.#end;
    if (this.#weight > MAX_WEIGHT) this.#trim();
  }

  /** Returns the events after a sequence, in order. Undefined when the tail does not reach back that far. */
  after(sequence: bigint): readonly TaskEvent[] | undefined {
    if (sequence >= this.#end) return [];
    const missing = Number(this.#end - sequence);
    return missing <= this.#events.length ? this.#events.slice(-missing) : undefined;
  }

  /** Drops the oldest half by weight, so that trimming costs little per event. */
  #trim(): void {
    let drop = 0;
    for (const event of this.#events) {
      if (this.#weight <= MAX_WEIGHT / 2) break;
      this.#weight -= weigh(event);
      drop++;
    }
    this.#events = this.#events.slice(drop);
  }
}

function weigh(event: TaskEvent): number {
  return event.payload.case === "toolCall" ? TOOL_CALL_WEIGHT : 1;
}
