import { Code } from "@connectrpc/connect";
import { shorten } from "@devtool/schema";

export { Code };

/** What in a request an error is about; crosses the wire as `devtool.v1alpha.ErrorContext`. */
export interface ErrorDetails {
  /** The field or kind of id that is meant, in the request's own terms. */
  readonly field: string;
  /** The offending value; empty when it is missing. */
  readonly value: string;
}

/** What a `DevtoolError` carries beside its problem and code. */
export interface ErrorOptions {
  /** The error behind it: kept for logs, never sent. */
  readonly cause?: unknown;
  /** What in the request is meant; sent to the client. */
  readonly details?: ErrorDetails;
  /** What helps, as the end of a sentence, for instance `choose another`. Default: empty, when nothing is known to help. */
  readonly remedy?: string;
}

/**
 * The one error that leaves a stage on purpose. Its message is `problem: remedy`, or the problem alone. It is sent to the
 * client, so it says what, which and what to do, and holds no secret. Every transport maps `code` in one table.
 */
export class DevtoolError extends Error {
  override readonly name = "DevtoolError";
  readonly details: ErrorDetails | undefined;
  /** What helps; empty when nothing is known to. */
  readonly remedy: string;

  constructor(
    readonly problem: string,
    readonly code: Code,
    { cause, details, remedy = "" }: ErrorOptions = {},
  ) {
    super(remedy === "" ? problem : `${problem}: ${remedy}`, { cause });
    this.details = details;
    this.remedy = remedy;
  }

  /** Takes what a `catch` got: keeps a `DevtoolError`, hides anything else behind `Code.Internal` with the cause kept. */
  static from(reason: unknown): DevtoolError {
    const known = devtoolErrorOf(reason);
    if (known) return known;
    if (reason instanceof Error && reason.name === "AbortError") {
      return new DevtoolError("the request was aborted", Code.Canceled, { cause: reason });
    }
    return new DevtoolError("internal error", Code.Internal, { remedy: "the server's log says more", cause: reason });
  }
}

/**
 * The value if it is a `DevtoolError`, else undefined. An agent that is loaded from a module throws the class of its own copy
 * of this package, which counts as well.
 */
export function devtoolErrorOf(value: unknown): DevtoolError | undefined {
  if (value instanceof DevtoolError) return value;
  if (!(value instanceof Error) || value.name !== "DevtoolError" || !("code" in value)) return undefined;
  const { code } = value;
  return typeof code === "number" && Code[code] !== undefined
    ? new DevtoolError(value.message, code, { cause: value })
    : undefined;
}

/**
 * Makes the error for a request field that cannot be used: field, value, problem and remedy in a sentence. The value is cut
 * to 80 characters.
 */
export function invalid(field: string, value: string, problem: string, remedy = ""): DevtoolError {
  const subject = value === "" ? field : `${field} ${quoted(value)}`;
  const details = { field, value: shorten(value) };
  return new DevtoolError(`${subject} ${problem}`, Code.InvalidArgument, { details, remedy });
}

/** An error with its field under the name that the request has for it; all else as it is. */
export function withFieldNames(reason: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(reason instanceof DevtoolError) || !reason.details) return reason;
  const { problem, remedy, code, cause, details } = reason;
  const name = names[details.field];
  if (name === undefined) return reason;
  const text = problem.startsWith(details.field) ? `${name}${problem.slice(details.field.length)}` : problem;
  return new DevtoolError(text, code, { cause, remedy, details: { ...details, field: name } });
}

/** A text of a request as an error quotes it: at most 80 characters of it. */
export function quoted(text: string): string {
  return JSON.stringify(shorten(text));
}
