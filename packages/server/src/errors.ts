import { Code } from "@connectrpc/connect";
import { shorten } from "@devtool/internal/cut-text";

export { Code };

/**
 * The part of a request that an error is about. Sent to clients as
 * `devtool.v1alpha.ErrorContext`.
 */
export interface ErrorDetails {
  /** The path of the field, or the kind of id, in the terms of the request. */
  readonly field: string;

  /** The invalid value; empty when it is missing. */
  readonly value: string;
}

/** Optional properties of a `DevtoolError`. */
export interface ErrorOptions {
  /**
   * The underlying error. Written to the server's log, never sent to clients.
   */
  readonly cause?: unknown;

  /** The part of the request that is invalid; sent to clients. */
  readonly details?: ErrorDetails | undefined;

  /**
   * What the caller can do, in lower case and without a full stop:
   * `choose another`. Default: empty.
   */
  readonly remedy?: string | undefined;
}

/**
 * An error whose message clients may see.
 *
 * The message is `problem: remedy`, or the problem alone. Since it is sent to
 * clients, it must quote the invalid value and contain no secret. `code` is one
 * of Connect's codes; each transport maps it to its own status codes in one
 * table.
 */
export class DevtoolError extends Error {
  override readonly name = "DevtoolError";

  /**
   * The part of the request that is invalid; undefined when no part of it is.
   */
  readonly details: ErrorDetails | undefined;

  /** What the caller can do; empty when nothing is known to help. */
  readonly remedy: string;

  /**
   * @param problem the subject and what is wrong with it, for instance
   * `page_size 0 is out of range`
   */
  constructor(
    readonly problem: string,
    readonly code: Code,
    { cause, details, remedy = "" }: ErrorOptions = {},
  ) {
    super(remedy === "" ? problem : `${problem}: ${remedy}`, { cause });
    this.details = details;
    this.remedy = remedy;
  }

  /**
   * Whether a value is a `DevtoolError`, also one of another copy of this
   * module: the command has its own copy, and modules of agents and stores
   * bring theirs.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this
    if (super[Symbol.hasInstance](value)) return true;
    return (
      // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this
      this === DevtoolError &&
      value instanceof Error &&
      value.name === "DevtoolError" &&
      "code" in value &&
      "problem" in value
    );
  }

  /**
   * Converts a caught value. Returns a `DevtoolError` as it is, converts an
   * `AbortError` to `Code.Canceled`, and hides anything else behind
   * `Code.Internal`, as the cause.
   */
  static from(reason: unknown): DevtoolError {
    const known = devtoolErrorOf(reason);
    if (known) return known;
    if (reason instanceof Error && reason.name === "AbortError") {
      return new DevtoolError("the request was aborted", Code.Canceled, {
        cause: reason,
      });
    }
    return new DevtoolError("internal error", Code.Internal, {
      remedy: "the server's log says more",
      cause: reason,
    });
  }
}

/**
 * Returns the value when it is a `DevtoolError`, otherwise undefined.
 *
 * Recognizes the class of another copy of this package by its name and code: an
 * agent that is loaded from a module may bring its own copy.
 */
export function devtoolErrorOf(value: unknown): DevtoolError | undefined {
  if (value instanceof DevtoolError) return value;
  if (
    !(value instanceof Error) ||
    value.name !== "DevtoolError" ||
    !("code" in value)
  ) {
    return undefined;
  }
  const { code } = value;
  return typeof code === "number" && Code[code] !== undefined
    ? new DevtoolError(value.message, code, { cause: value })
    : undefined;
}

/** Whether a caught value is a `DevtoolError` with a code. */
export function hasCode(reason: unknown, code: Code): boolean {
  return reason instanceof DevtoolError && reason.code === code;
}

/**
 * Creates the error for an invalid field of a request, with
 * `Code.InvalidArgument`.
 *
 * The message is `field "value" problem: remedy`. The value is cut to 80
 * characters; an empty value is left out.
 */
export function invalid(
  field: string,
  value: string,
  problem: string,
  remedy = "",
): DevtoolError {
  const subject = value === "" ? field : `${field} ${quoted(value)}`;
  const details = { field, value: shorten(value) };
  return new DevtoolError(`${subject} ${problem}`, Code.InvalidArgument, {
    details,
    remedy,
  });
}

/**
 * Renames the field of an error, for a transport whose requests use other
 * names. Returns any other value as it is.
 *
 * @param names the names in the request, by the names in the error
 */
export function withFieldNames(
  reason: unknown,
  names: Readonly<Record<string, string>>,
): unknown {
  if (!(reason instanceof DevtoolError) || !reason.details) return reason;
  const { problem, remedy, code, cause, details } = reason;
  const name = names[details.field];
  if (name === undefined) return reason;
  const text = problem.startsWith(details.field)
    ? `${name}${problem.slice(details.field.length)}`
    : problem;
  return new DevtoolError(text, code, {
    cause,
    remedy,
    details: { ...details, field: name },
  });
}

/**
 * Returns a text in double quotes for an error message, cut to 80 characters.
 */
export function quoted(text: string): string {
  return JSON.stringify(shorten(text));
}
