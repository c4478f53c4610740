/** What an error says, and what the error behind it says where that is more: `fetch failed (connect ECONNREFUSED …)`. */
export function messageOf(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  const { message, cause } = reason;
  return cause instanceof Error && !message.includes(cause.message) ? `${message} (${messageOf(cause)})` : message;
}
