import { keepEnd } from "@devtool/internal/cut-text";

/** The number of characters that are shown, from the end. */
const MAX_LENGTH = 16 * 1024;
/** The minimum time between two versions, in milliseconds. */
export const SHOW_INTERVAL_MS = 200;

/**
 * The output of a running command so far. It is shown at intervals, and its
 * beginning is cut.
 */
export class LiveOutput {
  #tail = "";
  #produced = 0;
  #shownAtMs = Number.NEGATIVE_INFINITY;
  #isNew = false;

  /** Whether there is output that was not shown. */
  get isNew(): boolean {
    return this.#isNew;
  }

  push(text: string): void {
    this.#produced += text.length;
    const all = this.#tail + text;
    this.#tail = all.length > 2 * MAX_LENGTH ? keepEnd(all, MAX_LENGTH) : all;
    this.#isNew = true;
  }

  /**
   * Returns the output to show at a time in milliseconds. Undefined when there
   * is nothing new or it is too soon.
   */
  take(nowMs: number): string | undefined {
    if (!this.#isNew || nowMs - this.#shownAtMs < SHOW_INTERVAL_MS) {
      return undefined;
    }
    this.#isNew = false;
    this.#shownAtMs = nowMs;
    if (this.#produced <= MAX_LENGTH) return this.#tail;
    return `[first ${this.#produced - MAX_LENGTH} of ${this.#produced} characters cut]\n${keepEnd(this.#tail, MAX_LENGTH)}`;
  }
}
