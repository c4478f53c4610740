/**
 * Describes a caught value, with the message of its cause where that adds
 * something: `fetch failed (connect ECONNREFUSED …)`.
 */
export function describeError(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  const { message, cause } = reason;
  return cause instanceof Error && !message.includes(cause.message)
    ? `${message} (${describeError(cause)})`
    : message;
}
