import type { TaskEvent } from "@devtool/schema";
import type { StreamView } from "@devtool/schema/a2a-v03";

/**
 * Wraps a function of an event and a view so that it runs once for all readers
 * of the event.
 *
 * The result, `undefined` included, is kept as long as the event itself is in
 * memory.
 */
export function oncePerEvent<T>(
  make: (event: TaskEvent, view: StreamView) => T,
): (event: TaskEvent, view: StreamView) => T {
  const made: Readonly<
    Record<StreamView, WeakMap<TaskEvent, { readonly value: T }>>
  > = {
    extension: new WeakMap(),
    plain: new WeakMap(),
  };
  return (event, view) => {
    const known = made[view].get(event);
    if (known) return known.value;
    const value = make(event, view);
    made[view].set(event, { value });
    return value;
  };
}
