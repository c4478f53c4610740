/**
 * Wakes a loop that waits for work.
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
    await new Promise((resolve) =>
      either.addEventListener("abort", resolve, { once: true }),
    );
  }
}
