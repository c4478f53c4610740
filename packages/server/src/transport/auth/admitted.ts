import type { Caller } from "../../handler/caller.ts";
import type { HttpRequest } from "../http/route.ts";

const admitted = new WeakMap<HttpRequest, Caller>();

/** Records the caller of a request. Only the guard calls it. */
export function admit(request: HttpRequest, caller: Caller): void {
  admitted.set(request, caller);
}

/**
 * Returns the caller of a request; undefined when its route is public. The
 * handler refuses calls without a caller.
 */
export function admittedCaller(request: HttpRequest): Caller | undefined {
  return admitted.get(request);
}
