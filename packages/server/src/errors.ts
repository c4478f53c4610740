import { Code } from "@connectrpc/connect";

export { Code };

/** What in a request an error is about; crosses the wire as `devtool.v1alpha.ErrorContext`. */
export interface ErrorDetails {
  /** The field or kind of id that is meant, in the request's own terms. */
  readonly field: string;
  /** The offending value; empty when it is missing. */
  readonly value: string;
}

/** What a `DevtoolError` carries beside its message and code. */
export interface ErrorOptions {
  /** The error behind it: kept for logs, never sent. */
  readonly cause?: unknown;
  /** What in the request is meant; sent to the client. */
  readonly details?: ErrorDetails;
}

/**
 * The one error that leaves a stage on purpose. Its message is sent to the client, so it says what,
 * which and what to do, and holds no secret. Every transport maps `code` in one table.
 */
export class DevtoolError extends Error {
  override readonly name = "DevtoolError";
  readonly details: ErrorDetails | undefined;

  constructor(
    message: string,
    readonly code: Code,
    options: ErrorOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.details = options.details;
  }

  /** Takes what a `catch` got: keeps a `DevtoolError`, hides anything else behind `Code.Internal` with the cause kept. */
  static from(reason: unknown): DevtoolError {
    if (reason instanceof DevtoolError) return reason;
    if (reason instanceof Error && reason.name === "AbortError") {
      return new DevtoolError("the request was aborted", Code.Canceled, { cause: reason });
    }
    return new DevtoolError("internal error: the server's log says more", Code.Internal, { cause: reason });
  }
}

/** Makes the error for a request field that cannot be used. */
export function invalid(field: string, value: string, problem: string): DevtoolError {
  const subject = value === "" ? field : `${field} ${JSON.stringify(value)}`;
  return new DevtoolError(`${subject} ${problem}`, Code.InvalidArgument, {
    details: { field, value },
  });
}
