/**
 * Waits for a promise, or rejects with the signal's reason when it aborts.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Wakes what waits for something to do.
 */
export class WakeUp {
  #controller = new AbortController();

  /**
   * Aborts with the next call of `wake`.
   */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  wake(): void {
    const controller = this.#controller;
    this.#controller = new AbortController();
    controller.abort();
  }

  /**
   * Waits for the next call of `wake`, or until a signal aborts.
   */
  async wait(signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.signal]);
    if (either.aborted) return;
    await new Promise((resolve) => either.addEventListener("abort", resolve, { once: true }));
  }
}
