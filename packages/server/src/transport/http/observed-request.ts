import { shorten } from "@devtool/internal/cut-text";
import { Code, DevtoolError } from "../../errors.ts";
import type { Operation, OperationEnd } from "../../observer.ts";
import { type Operations, SUCCEEDED } from "../../operations.ts";
import {
  type Failure,
  type HttpRequest,
  type HttpResponse,
  pathOf,
} from "./route.ts";

/** The codes of the statuses of requests that reach no method. */
const CODES: Readonly<Partial<Record<number, Code>>> = {
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
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

function operationOf(
  request: HttpRequest,
): Pick<Operation, "kind" | "name" | "binding" | "peer"> {
  return {
    kind: "request",
    name: `${request.method} ${shorten(pathOf(request))}`,
    binding: "http",
    peer: request.socket.remoteAddress ?? "",
  };
}

function endOf({ status, message }: Failure): OperationEnd {
  const error = new DevtoolError(message, CODES[status] ?? Code.Unknown);
  return { outcome: "failed", error };
}
