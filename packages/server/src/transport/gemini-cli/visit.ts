import type { DescMethod } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Caller } from "../../handler/caller.ts";
import { RequestContext } from "../http/request-context.ts";
import type { HttpRequest, HttpResponse } from "../http/route.ts";
import type { GeminiCliRoutesOptions } from "./options.ts";

/** One request to a route of the dialect, with everything that answers it. */
export interface Visit extends GeminiCliRoutesOptions, Caller {
  readonly request: HttpRequest;

  readonly response: HttpResponse;

  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** Returns the context in which a request runs a method of our services. */
export function contextFor(
  { request, signal }: Visit,
  method: DescMethod,
): HandlerContext {
  return new RequestContext(request, {
    method,
    protocolName: "gemini-cli",
    signal,
  });
}
