/**
 * Waits for a promise until a signal aborts, then rejects with the signal's
 * reason.
 *
 * Use it for work that does not take a signal, or that reacts to one late: the
 * work itself is not stopped. Leaves no listener on the signal.
 */
export async function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
