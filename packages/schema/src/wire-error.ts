/**
 * Bad input from the wire: what a decoder throws, and all that it throws. Its message may be sent to the peer.
 */
export class WireError extends Error {
  override readonly name = "WireError";

  constructor(
    /** The field that is meant, as a path in the peer's own terms; empty for the whole document. */
    readonly field: string,
    /** The offending value, cut to 200 characters; empty when it is missing. */
    readonly value: string,
    /** What is wrong and what to do. */
    problem: string,
    options?: ErrorOptions,
  ) {
    super(field === "" ? problem : `${field}${value === "" ? "" : ` ${JSON.stringify(value)}`} ${problem}`, options);
  }
}

/** Shows a value in an error: its JSON, cut to 200 characters. */
export function quote(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
