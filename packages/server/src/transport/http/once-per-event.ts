import type { TaskEvent } from "@devtool/schema";

/**
 * Wraps a function of an event so that it runs once for all readers of the
 * event.
 *
 * The result, `undefined` included, is kept as long as the event itself is in
 * memory.
 */
export function oncePerEvent<T>(
  make: (event: TaskEvent) => T,
): (event: TaskEvent) => T {
  const made = new WeakMap<TaskEvent, { readonly value: T }>();
  return (event) => {
    const known = made.get(event);
    if (known) return known.value;
    const value = make(event);
    made.set(event, { value });
    return value;
  };
}
