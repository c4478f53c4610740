import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

/** The units of an age, the largest first, with their length in seconds. */
const UNITS = [
  ["y", 365 * 86_400],
  ["mo", 30 * 86_400],
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
] as const;

/**
 * Returns the number of messages of a task, for people: `3 messages`. Empty for
 * 0, which servers send that do not count.
 */
export function messagesOf(count: number): string {
  if (count === 0) return "";
  return `${count} ${count === 1 ? "message" : "messages"}`;
}

/**
 * Returns how long ago something happened, for people: `5m ago`, or `now`.
 * Empty for an unknown time.
 *
 * @param now the present time in milliseconds since 1970
 */
export function ageOf(time: Timestamp | undefined, now: number): string {
  if (!time) return "";
  const seconds = (now - timestampMs(time)) / 1000;
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? [];
  return unit && size ? `${Math.floor(seconds / size)}${unit} ago` : "now";
}
