/** Milliseconds without a key after which the user may look elsewhere. */
const AWAY_MS = 10_000;

/**
 * Rings when a command begins to wait for a user who has pressed no key for
 * {@link AWAY_MS}.
 */
export class Bell {
  readonly #ring: () => void;
  #lastInput = performance.now();
  #waitsFor: unknown;

  /** `waitsFor` is what the command waits for at its start. */
  constructor(ring: () => void, waitsFor: unknown) {
    this.#ring = ring;
    this.#waitsFor = waitsFor;
  }

  /** Notes that the user is there. */
  noteInput(): void {
    this.#lastInput = performance.now();
  }

  /**
   * Takes what the command waits for from the user; undefined while the agent
   * works.
   */
  update(waitsFor: unknown): void {
    const isNew = waitsFor !== undefined && waitsFor !== this.#waitsFor;
    this.#waitsFor = waitsFor;
    if (isNew && performance.now() - this.#lastInput >= AWAY_MS) this.#ring();
  }
}
