import { invalid } from "@devtool/server/agent";

/**
 * The place of an event in a session: the event of the task that it shows, and
 * its index among those that show it.
 */
export interface EventPlace {
  readonly sequence: bigint;
  readonly index: number;
}

/** Encodes a place as `Event.seq`. */
export function encodePlace({ sequence, index }: EventPlace): string {
  return `${sequence}.${index}`;
}

/**
 * Decodes `ConfigureSession.resume_after`. Undefined for the beginning of the
 * session.
 */
export function parsePlace(text: string): EventPlace | undefined {
  if (text === "") return undefined;
  const [, sequence = "", index = ""] =
    /^([1-9]\d{0,17})\.(\d{1,3})$/.exec(text) ?? [];
  if (sequence === "") {
    throw invalid("resume_after", text, "is not the seq of an event");
  }
  return { sequence: BigInt(sequence), index: Number(index) };
}

/** Whether a place is behind another one; an undefined one is the beginning. */
export function isAfter(
  place: EventPlace,
  other: EventPlace | undefined,
): boolean {
  if (!other || place.sequence > other.sequence) return true;
  return place.sequence === other.sequence && place.index > other.index;
}
