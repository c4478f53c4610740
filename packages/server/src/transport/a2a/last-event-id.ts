import { invalid } from "../../errors.ts";

/**
 * Returns the sequence in a `Last-Event-ID` header, after which the client
 * resumes (STREAM-3); undefined for an empty header.
 *
 * Throws `Code.InvalidArgument` for a header that is not a number.
 */
export function parseLastEventId(header: string): bigint | undefined {
  if (header === "") return undefined;
  if (/^\d{1,18}$/.test(header)) return BigInt(header);
  throw invalid(
    "Last-Event-ID",
    header,
    "is not a sequence number",
    "send the id of an event",
  );
}
