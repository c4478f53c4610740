import type { TaskEvent } from "@devtool/schema";
import type { StreamView } from "@devtool/schema/a2a-v03";

/** Calls `make` once for an event in a view, for all who read it side by side. What it gave is kept as long as the event is. */
export function oncePerEvent<T>(
  make: (event: TaskEvent, view: StreamView) => T,
): (event: TaskEvent, view: StreamView) => T {
  const made: Readonly<Record<StreamView, WeakMap<TaskEvent, { readonly value: T }>>> = {
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
