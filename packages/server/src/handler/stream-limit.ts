import type { HandlerContext } from "@connectrpc/connect";
import { Code, DevtoolError } from "../errors.ts";
import { callerOf } from "./caller.ts";

/**
 * Limits the open streams of each caller. Every open stream costs time at each
 * event, which all other callers wait for.
 */
export class StreamLimit {
  readonly #max: number;
  /**
   * The calls with an open stream, by caller. A call counts once, however many
   * logs it reads.
   */
  readonly #open = new Map<string, Set<HandlerContext>>();

  /**
   * @param max the maximum number of open streams per caller, in all tenants
   * together
   */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts the stream of a call until the result is disposed of. Throws
   * `Code.ResourceExhausted` when the caller is at the limit.
   */
  enter(context: HandlerContext): Disposable {
    const caller = callerOf(context);
    const open = this.#open.get(caller) ?? new Set();
    if (open.has(context)) return { [Symbol.dispose]: () => undefined };
    if (open.size >= this.#max) {
      // A stream whose client disconnected before anything read it is never
      // disposed of.
      for (const other of open) if (other.signal.aborted) open.delete(other);
    }
    if (open.size >= this.#max) {
      const problem = `streams: the caller has ${this.#max} open: limit is ${this.#max}`;
      throw new DevtoolError(problem, Code.ResourceExhausted, {
        remedy: "end one, or get the task instead",
        details: { field: "streams", value: String(this.#max) },
      });
    }
    this.#open.set(caller, open.add(context));
    return {
      [Symbol.dispose]: () => {
        const current = this.#open.get(caller);
        current?.delete(context);
        if (current?.size === 0) this.#open.delete(caller);
      },
    };
  }
}
