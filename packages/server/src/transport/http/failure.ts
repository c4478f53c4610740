import { WireError } from "@devtool/schema";
import { Code, DevtoolError } from "../../errors.ts";
import { BodyTooLarge, UnsupportedMediaType } from "./body.ts";
import { type HttpResponse, send } from "./route.ts";

/** The HTTP statuses of errors other than 500. */
const STATUSES: Readonly<Partial<Record<Code, number>>> = {
  [Code.InvalidArgument]: 400,
  [Code.OutOfRange]: 400,
  [Code.Unauthenticated]: 401,
  [Code.PermissionDenied]: 403,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.Aborted]: 409,
  [Code.FailedPrecondition]: 409,
  [Code.ResourceExhausted]: 429,
  [Code.Unimplemented]: 501,
  [Code.Unavailable]: 503,
};

/** A failure with an HTTP status that no `Code` maps to. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";

  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/**
 * Answers a request with an error that was thrown while it was handled:
 * `{"error": message}`, with the HTTP status of its code.
 *
 * Errors that are not the client's fault also go to `onError`.
 */
export function sendFailure(
  response: HttpResponse,
  reason: unknown,
  onError: (reason: unknown) => void,
): void {
  if (response.destroyed || response.headersSent) return;
  const { status, message: error } = failureFrom(reason);
  if (status >= 500) onError(reason);
  send(response, status, { body: JSON.stringify({ error }) });
}

function failureFrom(reason: unknown): {
  readonly status: number;
  readonly message: string;
} {
  if (reason instanceof HttpFailure) return reason;
  if (reason instanceof BodyTooLarge) {
    return { status: 413, message: reason.message };
  }
  if (reason instanceof UnsupportedMediaType) {
    return { status: 415, message: reason.message };
  }
  if (reason instanceof WireError) {
    return { status: 400, message: reason.message };
  }
  const { code, message, details } = DevtoolError.from(reason);
  // With details it is a limit that the client can keep to. Without, the server
  // is out of resources, for instance of disk space.
  if (code === Code.ResourceExhausted && !details) {
    return { status: 507, message };
  }
  return { status: STATUSES[code] ?? 500, message };
}
