import { shorten } from "@devtool/internal/cut-text";

interface WireErrorOptions extends ErrorOptions {
  /** The whole message, if it does not have the form "field value problem". */
  readonly sentence?: string | undefined;
}

/**
 * Maximum length of the path of a field in an error, in characters. The names
 * in it may be the peer's.
 */
const MAX_PATH_LENGTH = 200;

/**
 * Invalid input from a peer. Decoders throw no other errors. Its message may be
 * sent to the peer.
 */
export class WireError extends Error {
  override readonly name = "WireError";

  /**
   * Path of the field, in the terms of the peer, truncated to 200 characters.
   * Empty for the whole document.
   */
  readonly field: string;

  constructor(
    field: string,
    /**
     * The invalid value, truncated to 80 characters. Empty if it is missing.
     */
    readonly value: string,
    /** What is wrong, and the remedy. */
    problem: string,
    { sentence, ...options }: WireErrorOptions = {},
  ) {
    const path = shorten(field, MAX_PATH_LENGTH);
    const subject =
      path === ""
        ? ""
        : `${path}${value === "" ? "" : ` ${JSON.stringify(value)}`} `;
    super(sentence ?? `${subject}${problem}`, options);
    this.field = path;
  }
}

/**
 * Returns the path of a field, or of an entry of a map: `a.b`, or `a["b.c"]` for
 * a name that is not a word.
 */
export function keyPath(path: string, key: string): string {
  if (!/^[\w$@-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/** Creates the error for a field that is missing. */
export function missing(field: string, remedy?: string): WireError {
  const problem = remedy === undefined ? "is missing" : `is missing: ${remedy}`;
  return new WireError(field, "", problem);
}

/** Creates the error for a field with a value of the wrong type. */
export function mistyped(
  field: string,
  value: unknown,
  wanted: string,
  cause?: unknown,
): WireError {
  const quoted = shorten(JSON.stringify(value) ?? "nothing");
  const path = shorten(field, MAX_PATH_LENGTH);
  const sentence =
    path === ""
      ? `expected ${wanted}, got ${quoted}`
      : `${path} must be ${wanted}, got ${quoted}`;
  return new WireError(field, quote(value), "", { sentence, cause });
}

/**
 * Formats a value for an error: its text or its JSON, truncated to 80
 * characters.
 */
export function quote(value: unknown): string {
  return shorten(
    typeof value === "string" ? value : (JSON.stringify(value) ?? ""),
  );
}
