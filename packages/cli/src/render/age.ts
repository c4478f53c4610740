import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

const FORMAT = new Intl.RelativeTimeFormat("en", { style: "narrow" });

/** The units of an age, the largest first, with their length in seconds. */
const UNITS = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

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
  if (!unit || !size) return "now";
  return FORMAT.format(-Math.floor(seconds / size), unit);
}
