/** A time, and what happens later. */
export interface Timers {
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /** Calls a function once after a time in milliseconds. */
  after(ms: number, run: () => void): void;
}

/** What is repeated, and how often it was left out. */
interface Repeated<Line> {
  readonly line: Line;
  count: number;
}

/** The time in milliseconds in which a repeated line is counted. */
export const WINDOW_MS = 60_000;

/**
 * The number of different lines that are told apart. More share one count for
 * each event, so that nobody fills the memory with new ones.
 */
const MAX_KEYS = 256;

/** Counts lines that are repeated, in place of writing each. */
export class Repeats<Line extends { readonly event: string }> {
  readonly #timers: Timers;
  readonly #tell: (line: Line, count: number) => void;
  readonly #seen = new Map<string, Repeated<Line>>();

  /**
   * @param tell receives each line that was repeated in the last minute, with
   * the number of its repetitions
   */
  constructor(timers: Timers, tell: (line: Line, count: number) => void) {
    this.#timers = timers;
    this.#tell = tell;
  }

  /** Whether a line is to be written. One that is not is counted. */
  admits(key: string, line: Line): boolean {
    const isKnown = this.#seen.has(key) || this.#seen.size < MAX_KEYS;
    const kept = isKnown ? key : line.event;
    const repeated = this.#seen.get(kept);
    if (repeated) {
      repeated.count++;
      return false;
    }
    if (this.#seen.size === 0) {
      this.#timers.after(WINDOW_MS, () => this.#endWindow());
    }
    this.#seen.set(kept, { line, count: 0 });
    return true;
  }

  /** Tells what was counted so far. */
  flush(): void {
    for (const [key, repeated] of this.#seen) {
      if (repeated.count === 0) {
        this.#seen.delete(key);
      } else {
        this.#tell(repeated.line, repeated.count);
        repeated.count = 0;
      }
    }
  }

  #endWindow(): void {
    this.flush();
    if (this.#seen.size > 0) {
      this.#timers.after(WINDOW_MS, () => this.#endWindow());
    }
  }
}
