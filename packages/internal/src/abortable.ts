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
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    // The race handles the promise in any case: nobody else may, and a
    // rejection that nobody handles ends the process.
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
