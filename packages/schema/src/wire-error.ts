/** Options of a `WireError`. */
export interface WireErrorOptions extends ErrorOptions {
  /** The whole message, if it does not have the form "field value problem". */
  readonly sentence?: string | undefined;
}

/** Invalid input from a peer. Decoders throw no other errors. Its message may be sent to the peer. */
export class WireError extends Error {
  override readonly name = "WireError";

  constructor(
    /** Path of the field, in the terms of the peer. Empty for the whole document. */
    readonly field: string,
    /** The invalid value, truncated to 80 characters. Empty if it is missing. */
    readonly value: string,
    /** What is wrong, and the remedy. */
    problem: string,
    { sentence, ...options }: WireErrorOptions = {},
  ) {
    const subject = field === "" ? "" : `${field}${value === "" ? "" : ` ${JSON.stringify(value)}`} `;
    super(sentence ?? `${subject}${problem}`, options);
  }
}

/** Creates the error for a field with a value of the wrong type. */
export function mistyped(field: string, value: unknown, wanted: string, cause?: unknown): WireError {
  const quoted = shorten(JSON.stringify(value) ?? "nothing");
  const sentence = field === "" ? `expected ${wanted}, got ${quoted}` : `${field} must be ${wanted}, got ${quoted}`;
  return new WireError(field, quote(value), "", { sentence, cause });
}

/** Formats a value for an error: its text or its JSON, truncated to 80 characters. */
export function quote(value: unknown): string {
  return shorten(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

/** Truncates a text to 80 characters for an error. */
export function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
