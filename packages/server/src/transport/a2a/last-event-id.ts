import { invalid } from "../../errors.ts";

/** The position that a client resumes from (STREAM-3); undefined for an empty header. Throws when it is not a number. */
export function readLastEventId(id: string): bigint | undefined {
  if (id === "") return undefined;
  if (/^\d{1,18}$/.test(id)) return BigInt(id);
  throw invalid("Last-Event-ID", id, "is not a sequence number", "send the id of an event");
}
