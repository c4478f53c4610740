/**
 * Maximum time in milliseconds for which events are read without a break: two frames of most screens.
 */
const MAX_SLICE_MS = 30;

/**
 * Divides the reading of events into macrotasks. Events that have already arrived are read in microtasks, and a page
 * neither draws nor answers before the last of those.
 */
export class TimeSlice {
  #began = performance.now();

  /**
   * Returns whether it is time for a break.
   */
  isOver(): boolean {
    return performance.now() - this.#began > MAX_SLICE_MS;
  }

  /**
   * Begins the next slice, in a macrotask of its own.
   */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    this.#began = performance.now();
  }
}
