import type { TaskEvent } from "@devtool/schema";
import { encodeStreamFrame } from "@devtool/schema/a2a-v03";
import { encodeCoderAgentFrame } from "@devtool/schema/coder-agent";
import type { CallView } from "./call.ts";

const CACHES: Readonly<Record<CallView, WeakMap<TaskEvent, string | null>>> = {
  extension: new WeakMap(),
  plain: new WeakMap(),
  "coder-agent": new WeakMap(),
};

/** The JSON text of an event in a view, made once for all its readers; undefined when the view shows nothing of it. */
export function frameOf(event: TaskEvent, view: CallView): string | undefined {
  const cached = CACHES[view].get(event);
  if (cached !== undefined) return cached ?? undefined;
  const frame = view === "coder-agent" ? encodeCoderAgentFrame(event) : encodeStreamFrame(event, view);
  CACHES[view].set(event, frame ?? null);
  return frame;
}
