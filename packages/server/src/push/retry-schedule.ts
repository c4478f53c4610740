/**
 * The time in milliseconds after which a config whose events cannot be
 * delivered is given up: one day.
 */
export const GIVE_UP_MS: number = 24 * 60 * 60_000;

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 10 * 60_000;

/**
 * Returns the delay in milliseconds before the next attempt: one second after
 * the first failure, doubled with each further one, at most ten minutes; or the
 * longer one that the receiver asks for, at most a day.
 *
 * @param failures the number of consecutive failures, 1 or more
 * @param random a number from 0 to 1 that shortens the delay by up to half, so
 * that deliveries which failed together are not retried together
 * @param askedMs the delay that the receiver asks for
 */
export function retryDelayMs(
  failures: number,
  random: number,
  askedMs = 0,
): number {
  const longest = Math.min(
    FIRST_DELAY_MS * 2 ** (Math.max(failures, 1) - 1),
    LONGEST_DELAY_MS,
  );
  const ownMs = Math.round(longest * (1 - random / 2));
  return Math.max(ownMs, Math.min(askedMs, GIVE_UP_MS));
}
