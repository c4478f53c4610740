import { keepEnd } from "@devtool/internal/cut-text";

/** The minimum time between two snapshots of live output, in milliseconds. */
const INTERVAL_MS = 100;

/**
 * The maximum time without a snapshot while there is new output, in
 * milliseconds.
 */
const MAX_QUIET_MS = 1000;

/**
 * The maximum number of characters shown per character produced, so that n
 * characters of output cost O(n) (TOOL-7).
 */
const MAX_SHOWN_PER_PRODUCED = 4;

/** Keeps the end of a command's output, and decides when to show it again. */
export class LiveOutput {
  readonly #maxLength: number;
  #tail = "";
  /** The total number of characters produced. */
  #produced = 0;
  /** The total number of characters shown in all snapshots. */
  #shown = 0;
  /** The value of `#produced` at the last snapshot. */
  #shownAtProduced = 0;
  #shownAtMs = Number.NEGATIVE_INFINITY;

  /** `maxLength` is the number of characters that are kept, from the end. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  push(text: string): void {
    this.#produced += text.length;
    const all = this.#tail + text;
    this.#tail =
      all.length > 2 * this.#maxLength ? keepEnd(all, this.#maxLength) : all;
  }

  /**
   * The output so far. If its beginning was cut, the first line says how much.
   */
  get text(): string {
    if (this.#produced <= this.#maxLength) return this.#tail;
    return `[first ${this.#produced - this.#maxLength} of ${this.#produced} characters cut]\n${keepEnd(this.#tail, this.#maxLength)}`;
  }

  /**
   * Returns a snapshot to show at a time in milliseconds. Undefined when there
   * is no new output or it is too soon.
   */
  take(nowMs: number): string | undefined {
    if (this.#produced === this.#shownAtProduced) return undefined;
    const quietMs = nowMs - this.#shownAtMs;
    const size = Math.min(this.#produced, this.#maxLength);
    const isAffordable =
      this.#shown + size <= MAX_SHOWN_PER_PRODUCED * this.#produced;
    if (quietMs < INTERVAL_MS || (!isAffordable && quietMs < MAX_QUIET_MS)) {
      return undefined;
    }
    this.#shown += size;
    this.#shownAtProduced = this.#produced;
    this.#shownAtMs = nowMs;
    return this.text;
  }
}
