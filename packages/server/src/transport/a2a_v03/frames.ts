import type { TaskEvent } from "@devtool/schema";
import { encodeStreamFrame } from "@devtool/schema/a2a-v03";
import { encodeCoderAgentFrame } from "@devtool/schema/coder-agent";
import type { CallView } from "./call.ts";

/** So many characters of frames are kept in each view, an event of which nothing is shown counted as a few. */
const MAX_SIZE = 1024 * 1024;
const LEAST_SIZE = 256;

/**
 * The frames of the newest events, for those who read them too. It is emptied at once when it is full: a map with weak
 * keys, which needs no emptying, costs a stream a twentieth of its time.
 */
class FrameCache {
  readonly #frames = new Map<TaskEvent, string | undefined>();
  #size = 0;

  get(event: TaskEvent, make: (event: TaskEvent) => string | undefined): string | undefined {
    if (this.#frames.has(event)) return this.#frames.get(event);
    const frame = make(event);
    const size = Math.max(LEAST_SIZE, frame?.length ?? 0);
    if (this.#size + size > MAX_SIZE) this.#empty();
    this.#size += size;
    this.#frames.set(event, frame);
    return frame;
  }

  #empty(): void {
    this.#frames.clear();
    this.#size = 0;
  }
}

const CACHES: Readonly<Record<CallView, FrameCache>> = {
  extension: new FrameCache(),
  plain: new FrameCache(),
  "coder-agent": new FrameCache(),
};

const ENCODERS: Readonly<Record<CallView, (event: TaskEvent) => string | undefined>> = {
  extension: (event) => encodeStreamFrame(event, "extension"),
  plain: (event) => encodeStreamFrame(event, "plain"),
  "coder-agent": encodeCoderAgentFrame,
};

/** The JSON text of an event in a view, made once for all who read it side by side; undefined when the view shows nothing of it. */
export function frameOf(event: TaskEvent, view: CallView): string | undefined {
  return CACHES[view].get(event, ENCODERS[view]);
}
