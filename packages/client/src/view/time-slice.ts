/**
 * Minimum time in milliseconds between two breaks in reading. Browsers call
 * longer tasks long.
 */
const SLICE_MS = 50;

/**
 * Divides the reading of events into macrotasks. Events that have already
 * arrived are read in microtasks, and a page neither draws nor answers before
 * the last of those.
 */
export class TimeSlice {
  #began = performance.now();

  /**
   * Returns whether it is time for a break.
   */
  isOver(): boolean {
    return performance.now() - this.#began > SLICE_MS;
  }

  /**
   * Begins the next slice, in a macrotask of its own. A message starts it:
   * browsers hold timers of hidden pages back.
   */
  async next(): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    await new Promise((resolve) => {
      port1.addEventListener("message", resolve);
      port1.start();
      port2.postMessage(undefined);
    });
    port1.close();
    this.#began = performance.now();
  }
}
