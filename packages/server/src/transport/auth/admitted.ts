import { Code, DevtoolError } from "../../errors.ts";
import type { Caller } from "../../handler/caller.ts";
import type { HttpRequest } from "../http/route.ts";

const admitted = new WeakMap<HttpRequest, Caller>();

/** Records the caller of a request. Only the guard calls it. */
export function admit(request: HttpRequest, caller: Caller): void {
  admitted.set(request, caller);
}

/**
 * Returns the caller of a request.
 *
 * Throws for a request that the guard has not authenticated: its route must not
 * be public.
 */
export function callerOf(request: HttpRequest): Caller {
  const caller = admitted.get(request);
  if (caller) return caller;
  throw new DevtoolError(
    "caller: the request was admitted without credentials: this is a bug",
    Code.Internal,
  );
}
