/**
 * Returns a number with its noun: `1 file`, `2 files`. The noun is a regular
 * English one, in the singular.
 */
export function countOf(count: number | bigint, noun: string): string {
  return `${count} ${noun}${Number(count) === 1 ? "" : "s"}`;
}
