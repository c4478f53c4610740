import { answerPreflight, isPreflight, shareWithOrigin } from "./cors.ts";
import { type GuardOptions, misdirectionOf, type Refusal, refusalOf } from "./guard.ts";
import { refuse } from "./refusal.ts";
import { type HttpRequest, type HttpResponse, nothingServed, type Route, routeOf, send } from "./route.ts";

/** What answers the requests of a server. */
export interface Dispatch {
  /** The first that matches a request gets it. */
  readonly routes: readonly Route[];
  readonly guard: GuardOptions;
  /** Is told of each request whose credentials were right. */
  readonly admit: (request: HttpRequest) => void;
  /** Takes what went wrong while a request was answered. */
  readonly onError: (reason: unknown) => void;
}

/** Why a server that stops answers nothing. */
export const STOPPING: Refusal = { status: 503, message: "the server stops: try again when it runs" };

/**
 * Answers a request. Every request passes the guard before a route sees it; what no route matches needs the token to learn
 * so. Never throws: what goes wrong ends the response.
 */
export async function answerRequest(request: HttpRequest, response: HttpResponse, served: Dispatch): Promise<void> {
  try {
    await dispatch(request, response, served);
  } catch (reason) {
    fail(response, reason, served);
  }
}

async function dispatch(
  request: HttpRequest,
  response: HttpResponse,
  { routes, guard, admit }: Dispatch,
): Promise<void> {
  // Whatever is answered depends on the origin where pages may call, also what is answered to who names none.
  if (guard.origins.size > 0) response.setHeader("vary", "Origin");
  const misdirection = misdirectionOf(request, guard);
  if (misdirection) return refuse(request, response, misdirection);
  if (request.headers.origin !== undefined) shareWithOrigin(request, response);
  if (isPreflight(request)) return answerPreflight(request, response);
  const route = routeOf(routes, request);
  const access = route?.access ?? "token";
  const refusal = await refusalOf(request, access, guard);
  if (refusal) return refuse(request, response, refusal);
  if (access === "token") admit(request);
  return route ? route.handle(request, response) : nothingServed(request, response);
}

/** Ends the response to a request that could not be answered. */
function fail(response: HttpResponse, reason: unknown, { onError }: Dispatch): void {
  if (isGone(reason)) return;
  if (response.headersSent) response.destroy();
  else send(response, 500, { body: JSON.stringify({ error: "internal error" }) });
  onError(reason);
}

/** Returns whether a client closed its connection in the middle of a response: that is its right, and no fault of ours. */
function isGone(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && reason.code === "ERR_STREAM_PREMATURE_CLOSE";
}
