import type { TaskEvent } from "@devtool/schema";
import type { StreamView } from "@devtool/schema/a2a-v03";
import { oncePerEvent } from "../http/once-per-event.ts";

/** Wraps a function of an event and a view as `oncePerEvent` does. */
export function oncePerView<T>(
  make: (event: TaskEvent, view: StreamView) => T,
): (event: TaskEvent, view: StreamView) => T {
  const made = {
    extension: oncePerEvent((event) => make(event, "extension")),
    plain: oncePerEvent((event) => make(event, "plain")),
  };
  return (event, view) => made[view](event);
}
