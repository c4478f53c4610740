/**
 * Returns the wait in milliseconds that a response asks for (`Retry-After`, RFC
 * 9110, section 10.2.3): a number of seconds, or a date, which is compared with
 * the response's own. 0 for a header that is missing or malformed.
 *
 * @param retryAfter the value of `Retry-After`, empty when there is none
 * @param date the value of `Date`, empty when there is none
 */
export function retryAfterMs(retryAfter: string, date: string): number {
  const value = retryAfter.trim();
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const waitMs = Date.parse(value) - Date.parse(date);
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : 0;
}
