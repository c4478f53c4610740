import type { TaskEvent } from "@devtool/schema";
import { encodeStreamFrame, type StreamView } from "@devtool/schema/a2a-v03";

const CACHES: Readonly<Record<StreamView, WeakMap<TaskEvent, string | null>>> = {
  extension: new WeakMap(),
  plain: new WeakMap(),
};

/** The JSON text of an event in a view, made once for all its readers; undefined when the view shows nothing of it. */
export function frameOf(event: TaskEvent, view: StreamView): string | undefined {
  const cached = CACHES[view].get(event);
  if (cached !== undefined) return cached ?? undefined;
  const frame = encodeStreamFrame(event, view);
  CACHES[view].set(event, frame ?? null);
  return frame;
}
