import {
  ConnectError,
  type ContextKey,
  type ContextValues,
  createContextKey,
} from "@connectrpc/connect";
import { shorten } from "@devtool/internal/cut-text";
import { WireError } from "@devtool/schema";
import { Code, DevtoolError } from "../../errors.ts";
import { bindingKey } from "../../handler/caller.ts";
import { hasReachedMethod } from "../../handler/observed-call.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Operation, OperationEnd } from "../../observer.ts";
import { type Operations, SUCCEEDED } from "../../operations.ts";
import { HttpFailure } from "./failure.ts";
import { RequestContext } from "./request-context.ts";
import {
  type Failure,
  type HttpRequest,
  type HttpResponse,
  pathOf,
} from "./route.ts";

/** A request, and the response to it. */
interface Exchanged {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/** The codes of the statuses of requests that reach no method. */
const CODES: Readonly<Partial<Record<number, Code>>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  405: Code.Unimplemented,
  413: Code.ResourceExhausted,
  415: Code.InvalidArgument,
  500: Code.Internal,
  501: Code.Unimplemented,
  503: Code.Unavailable,
};

/** Tells the observer of a request that is answered with a failure at once. */
export function observeFailure(
  operations: Operations | undefined,
  request: HttpRequest,
  failure: Failure,
): void {
  operations?.begin(operationOf(request)).finish(endOf(failure));
}

/**
 * Tells the observer of a request to a public route, until its response is
 * closed.
 */
export function observePublic(
  operations: Operations,
  request: HttpRequest,
  response: HttpResponse,
): void {
  const operation = operations.begin(operationOf(request));
  response.once("close", () => {
    const { statusCode: status } = response;
    const failure = { status, message: `status ${status}` };
    operation.finish(status < 400 ? SUCCEEDED : endOf(failure));
  });
}

/** Why a request is refused, if it reaches no method. */
const refusalKey: ContextKey<unknown> = createContextKey<unknown>(undefined, {
  description: "refusal",
});

/** Notes why a request is refused, in case that it reaches no method. */
export function noteRefusal(values: ContextValues, reason: unknown): void {
  values.set(refusalKey, reason);
}

/**
 * Tells the observer of a request of a known caller that is refused before it
 * reaches a method: its path, its media type or its body is wrong. Does nothing
 * for one that has reached one.
 */
export function observeUnreached(
  { observe }: Pick<RequestHandler, "observe">,
  { request, response }: Exchanged,
  values: ContextValues,
): void {
  if (hasReachedMethod(values)) return;
  const { statusCode: status } = response;
  const noted = values.get(refusalKey);
  if (noted === undefined && status < 400) return;
  values.set(bindingKey, "http");
  const { name } = operationOf(request);
  // The message for the client has its path as it is.
  const reason =
    status === 404 && noted instanceof HttpFailure
      ? new DevtoolError(`nothing is served at ${name}`, Code.NotFound)
      : noted;
  // The signal of the request has aborted: it has its answer.
  const { signal } = new AbortController();
  const context = new RequestContext(request, signal, values);
  observe(name, context).fail(refusalError(reason, status));
}

/** Returns an error with a code, which some errors of dialects have not. */
function refusalError(noted: unknown, status: number): unknown {
  const isCoded = [DevtoolError, WireError, ConnectError].some(
    (type) => noted instanceof type,
  );
  if (isCoded) return noted;
  const message = noted instanceof Error ? noted.message : `status ${status}`;
  // JSON-RPC sends its errors with status 200.
  return new DevtoolError(message, CODES[status] ?? Code.InvalidArgument);
}

function operationOf(
  request: HttpRequest,
): Pick<Operation, "kind" | "name" | "binding" | "peer"> {
  return {
    kind: "request",
    name: `${request.method} ${shorten(pathForOperators(request))}`,
    binding: "http",
    peer: request.socket.remoteAddress ?? "",
  };
}

/**
 * Returns the path of a request without what may be a secret in a wrong place,
 * such as the address of a webhook. Words, names of methods and versions stay.
 */
export function pathForOperators(request: HttpRequest): string {
  const shown = pathOf(request)
    .split("/")
    .map((part) => (WORDS.some((word) => word.test(part)) ? part : "…"));
  return shown.join("/");
}

const WORDS: readonly RegExp[] = [
  /^[a-z.:_$-]{0,32}$/,
  /^[a-z.:_$-]{0,12}\d{1,2}[a-z.:_$-]{0,12}$/,
  /^[A-Za-z]{1,24}$/,
  /^[a-z][a-z0-9]*(\.[a-z][a-z0-9]*){0,4}\.[A-Z][A-Za-z]{1,24}$/,
];

function endOf({ status, message }: Failure): OperationEnd {
  const error = new DevtoolError(message, CODES[status] ?? Code.Unknown);
  return { outcome: "failed", error };
}
