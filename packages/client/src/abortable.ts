/**
 * Waits for a promise, or rejects with the signal's reason when it aborts.
 */
export async function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  try {
    // The race handles the promise in any case: nobody else may, and a
    // rejection that nobody handles ends a process of Node.
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
