import type { ContextValues } from "@connectrpc/connect";
import { Code, DevtoolError } from "../../errors.ts";
import { type Caller, contextValuesFor } from "../../handler/caller.ts";
import type { HttpRequest } from "../http/route.ts";

const admitted = new WeakMap<HttpRequest, Caller>();

/** Notes who sends a request; the guard alone does. */
export function admit(request: HttpRequest, caller: Caller): void {
  admitted.set(request, caller);
}

/** Who sends a request. Throws when the guard let nobody in: a route that asks must not be public. */
export function callerOf(request: HttpRequest): Caller {
  const caller = admitted.get(request);
  if (caller) return caller;
  throw new DevtoolError("caller: the request was let in without credentials: this is a bug", Code.Internal);
}

/** The context values of a call that a request makes. */
export function contextValuesOf(request: HttpRequest): ContextValues {
  return contextValuesFor(callerOf(request));
}
