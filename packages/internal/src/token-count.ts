/**
 * Returns a number of tokens that an API reports; 0 for anything but a positive
 * integer.
 */
export function tokenCount(count: number | null | undefined): bigint {
  return Number.isSafeInteger(count) && Number(count) > 0
    ? BigInt(Number(count))
    : 0n;
}
