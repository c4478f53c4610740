/** What a `WireError` may say beside its field, value and problem. */
export interface WireErrorOptions extends ErrorOptions {
  /** The whole sentence, where it is not "field, value, problem". */
  readonly sentence?: string | undefined;
}

/**
 * Bad input from the wire: what a decoder throws, and all that it throws. Its message may be sent to the peer.
 */
export class WireError extends Error {
  override readonly name = "WireError";

  constructor(
    /** The field that is meant, as a path in the peer's own terms; empty for the whole document. */
    readonly field: string,
    /** The offending value, cut to 80 characters; empty when it is missing. */
    readonly value: string,
    /** What is wrong and what to do. */
    problem: string,
    { sentence, ...options }: WireErrorOptions = {},
  ) {
    const subject = field === "" ? "" : `${field}${value === "" ? "" : ` ${JSON.stringify(value)}`} `;
    super(sentence ?? `${subject}${problem}`, options);
  }
}

/** The error for a field that holds a value of another type than it must. */
export function mistyped(field: string, value: unknown, wanted: string, cause?: unknown): WireError {
  const shown = shorten(JSON.stringify(value) ?? "nothing");
  const sentence = field === "" ? `expected ${wanted}, got ${shown}` : `${field} must be ${wanted}, got ${shown}`;
  return new WireError(field, quote(value), "", { sentence, cause });
}

/** Shows a value in an error: its text or its JSON, cut to 80 characters. */
export function quote(value: unknown): string {
  return shorten(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

/** Cuts a text that an error quotes to 80 characters. */
export function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
