import { shorten } from "@devtool/internal/cut-text";
import type { Operations } from "../../operations.ts";
import { isDisconnection } from "./client-gone.ts";
import type { CredentialCheck } from "./connections.ts";
import { answerPreflight, isPreflight, shareWithOrigin } from "./cors.ts";
import {
  type GuardOptions,
  misdirectionOf,
  type Refusal,
  requestRefusal,
} from "./guard.ts";
import {
  observeFailure,
  observePublic,
  pathForOperators,
} from "./observed-request.ts";
import { refuse } from "./refusal.ts";
import {
  type HttpRequest,
  type HttpResponse,
  pathOf,
  type Route,
  routeOf,
  sendError,
} from "./route.ts";

/** Dependencies of `answerRequest`. */
export interface Dispatch {
  /** The routes in order: the first that matches a request answers it. */
  readonly routes: readonly Route[];
  readonly guard: GuardOptions;
  /** Whether the server stops, and refuses every request. */
  readonly isStopping: () => boolean;
  /** Called with each request before its credentials are checked. */
  readonly beginCheck: (request: HttpRequest) => CredentialCheck;
  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;
  /** What the server's observer hears. Default: there is none. */
  readonly operations?: Operations | undefined;
}

/** The refusal of every request that arrives while the server stops. */
const STOPPING_REFUSAL: Refusal = {
  status: 503,
  message: "the server is stopping: try again when it runs",
};

/**
 * Answers a request.
 *
 * Each request passes the guard before a route handles it. A path that no route
 * matches needs a token as well, so that callers without one cannot learn which
 * paths exist. Never rejects: an error ends the response and goes to `onError`.
 */
export async function answerRequest(
  request: HttpRequest,
  response: HttpResponse,
  dispatch: Dispatch,
): Promise<void> {
  const { routes, guard, isStopping, onError, operations } = dispatch;
  const refuseWith = (refusal: Refusal): Promise<void> => {
    observeFailure(operations, request, refusal);
    return refuse(request, response, refusal, routes);
  };
  try {
    // Awaited: the form of a route may throw.
    if (isStopping()) return await refuseWith(STOPPING_REFUSAL);
    // Where web pages may call, every response depends on `Origin`, also the
    // responses to requests without one.
    if (guard.origins.size > 0) response.setHeader("vary", "Origin");
    const misdirection = misdirectionOf(request, guard);
    if (misdirection) return await refuseWith(misdirection);
    if (request.headers.origin !== undefined) {
      shareWithOrigin(request, response);
    }
    if (isPreflight(request)) return answerPreflight(request, response);
    const route = routeOf(routes, request);
    const access = route?.access ?? "token";
    const refusal = await checkCredentials(request, access, dispatch);
    if (refusal) return await refuseWith(refusal);
    if (!route) {
      const message = `nothing is served at ${request.method} ${shorten(pathOf(request))}`;
      const known = `nothing is served at ${request.method} ${shorten(pathForOperators(request))}`;
      observeFailure(operations, request, { status: 404, message: known });
      return sendError(response, 404, message);
    }
    if (access === "public" && operations) {
      observePublic(operations, request, response);
    }
    await route.handle(request, response);
  } catch (reason) {
    if (isDisconnection(request, reason)) return;
    if (response.headersSent) {
      response.destroy();
    } else {
      sendError(response, 500, "internal error");
    }
    onError(reason);
  }
}

/** Returns why the guard refuses a request. Its connection stays meanwhile. */
async function checkCredentials(
  request: HttpRequest,
  access: Route["access"],
  { guard, beginCheck }: Pick<Dispatch, "guard" | "beginCheck">,
): Promise<Refusal | undefined> {
  using check = beginCheck(request);
  const refusal = await requestRefusal(request, access, guard);
  if (!refusal && access === "token") check.admit();
  return refusal;
}
