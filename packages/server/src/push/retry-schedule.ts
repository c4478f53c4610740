/** A config whose events cannot be delivered for so long is given up: a day, in milliseconds. */
export const GIVE_UP_MS: number = 24 * 60 * 60_000;

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 10 * 60_000;

/**
 * How many milliseconds to wait after so many failures in a row, 1 or more: a second, doubled each time up to ten
 * minutes. A random number from 0 to 1 takes up to half of it away, so that those who failed together come back apart.
 */
export function retryDelayMs(failures: number, random: number): number {
  const longest = Math.min(FIRST_DELAY_MS * 2 ** (Math.max(failures, 1) - 1), LONGEST_DELAY_MS);
  return Math.round(longest * (1 - random / 2));
}
