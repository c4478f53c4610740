import type { HandlerContext } from "@connectrpc/connect";
import { Code, DevtoolError } from "../errors.ts";
import { callerOf } from "./caller.ts";

/** Bounds how many streams each caller has open: what wakes and sends to all of them takes time from everybody else. */
export class StreamLimit {
  readonly #max: number;
  /** The calls that have a stream open, by caller. A call counts once, however many logs it reads for its answer. */
  readonly #open = new Map<string, Set<HandlerContext>>();

  /** The maximum number of streams that one caller may have open, in all tenants together. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Counts the stream of a call until the result is disposed of. Throws `Code.ResourceExhausted` when its caller has too many. */
  enter(context: HandlerContext): Disposable {
    const caller = callerOf(context);
    const open = this.#open.get(caller) ?? new Set();
    if (open.has(context)) return { [Symbol.dispose]: () => undefined };
    if (open.size >= this.#max) forgetEnded(open);
    if (open.size >= this.#max) throw tooMany(this.#max);
    this.#open.set(caller, open.add(context));
    return { [Symbol.dispose]: () => this.#leave(caller, context) };
  }

  #leave(caller: string, context: HandlerContext): void {
    const open = this.#open.get(caller);
    open?.delete(context);
    if (open?.size === 0) this.#open.delete(caller);
  }
}

/** A stream whose client left before anybody read it disposes of nothing. */
function forgetEnded(open: Set<HandlerContext>): void {
  for (const context of open) if (context.signal.aborted) open.delete(context);
}

function tooMany(max: number): DevtoolError {
  return new DevtoolError(`streams: the caller has ${max} open: limit is ${max}`, Code.ResourceExhausted, {
    remedy: "end one, or get the task instead",
    details: { field: "streams", value: String(max) },
  });
}
