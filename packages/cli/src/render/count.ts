/**
 * Returns a number with its noun: `1 file`, `2 files`. The noun is a regular
 * English one, in the singular.
 */
export function countOf(count: number | bigint, noun: string): string {
  return `${count} ${noun}${Number(count) === 1 ? "" : "s"}`;
}

/** Returns a number in a few characters: `950`, `1.2k`, `3.4M`. */
export function shortCount(count: bigint): string {
  const number = Number(count);
  if (number < 1000) return String(number);
  return number < 1_000_000
    ? `${(number / 1000).toFixed(1)}k`
    : `${(number / 1_000_000).toFixed(1)}M`;
}
