import type { TaskEvent } from "@devtool/schema";
import type { StreamView } from "@devtool/schema/a2a-v03";
import { weightOf } from "../../task/event-tail.ts";

/**
 * The weight of the events after which the results of earlier ones are dropped.
 * The readers of a task are woken together, so they ask for the same events at
 * nearly the same time.
 */
const MAX_WEIGHT = 512;

/**
 * Wraps a function of an event and a view so that it runs once for all readers
 * of the event that keep up with each other. A copy of an event is another one.
 *
 * The results of the newest events are kept, `undefined` included: of at most
 * 1,024 short events, or 2 MB of text.
 */
export function oncePerEvent<T>(
  make: (event: TaskEvent, view: StreamView) => T,
): (event: TaskEvent, view: StreamView) => T {
  const recent = { extension: new Recent<T>(), plain: new Recent<T>() };
  return (event, view) => recent[view].get(event, () => make(event, view));
}

/** The results of the newest events: two generations of them. */
class Recent<T> {
  #newer = new Map<TaskEvent, { readonly value: T }>();
  #older = this.#newer;
  #weight = 0;

  get(event: TaskEvent, make: () => T): T {
    const known = this.#newer.get(event) ?? this.#older.get(event);
    if (known) return known.value;
    if (this.#weight >= MAX_WEIGHT) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#weight = 0;
    }
    const value = make();
    this.#newer.set(event, { value });
    this.#weight += weightOf(event);
    return value;
  }
}
