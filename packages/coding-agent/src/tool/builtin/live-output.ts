/** How often live output is shown, and how much of it. */
const INTERVAL_MS = 100;
const MAX_QUIET_MS = 1000;
/** So many bytes may be shown for each byte that was produced, so that n bytes of output cost O(n) (TOOL-7). */
const SHOWN_PER_BYTE = 4;

/** The output of a running command: its tail, and when to show it again. */
export class LiveOutput {
  readonly #maxBytes: number;
  #tail = "";
  #produced = 0;
  #shown = 0;
  #shownAtProduced = 0;
  #shownAtMs = Number.NEGATIVE_INFINITY;

  /** Keeps so many bytes of the newest output. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(text: string): void {
    this.#produced += text.length;
    const all = this.#tail + text;
    this.#tail = all.length > 2 * this.#maxBytes ? all.slice(-this.#maxBytes) : all;
  }

  /** The output so far: all of it, or the tail with a first line that says what was cut. */
  get text(): string {
    if (this.#produced <= this.#maxBytes) return this.#tail;
    return `[first ${this.#produced - this.#maxBytes} of ${this.#produced} characters cut]\n${this.#tail.slice(-this.#maxBytes)}`;
  }

  /** The output to show at a time in milliseconds; undefined when there is nothing new or it is too soon. */
  take(nowMs: number): string | undefined {
    if (this.#produced === this.#shownAtProduced) return undefined;
    const quietMs = nowMs - this.#shownAtMs;
    const size = Math.min(this.#produced, this.#maxBytes);
    const affordable = this.#shown + size <= SHOWN_PER_BYTE * this.#produced;
    if (quietMs < INTERVAL_MS || (!affordable && quietMs < MAX_QUIET_MS)) return undefined;
    this.#shown += size;
    this.#shownAtProduced = this.#produced;
    this.#shownAtMs = nowMs;
    return this.text;
  }
}
