import type { Screen } from "./screen.ts";

/** Options of `ScreenStore`. */
interface ScreenStoreOptions {
  /** Updates the chat, and returns its screen. */
  readonly draw: () => Screen;
  readonly first: Screen;
}

/**
 * Holds the screen of the chat, in the form of React's `useSyncExternalStore`.
 * All changes of a turn of the event loop are drawn at once.
 */
export class ScreenStore {
  readonly #draw: () => Screen;
  readonly #listeners = new Set<() => void>();
  #screen: Screen;
  #isDue = false;
  /**
   * Whether the terminal belongs to another program, so that nothing may be
   * drawn.
   */
  #isHeld = false;

  constructor({ draw, first }: ScreenStoreOptions) {
    this.#draw = draw;
    this.#screen = first;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly snapshot = (): Screen => this.#screen;

  /** Draws for the first time. */
  begin(): void {
    this.#screen = this.#draw();
  }

  /** Draws soon. */
  readonly change = (): void => {
    if (this.#isDue || this.#isHeld) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      if (this.#isHeld) return;
      this.#screen = this.#draw();
      for (const listener of this.#listeners) listener();
    });
  };

  /** Whether the terminal belongs to another program. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Draws nothing until some work is done. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    this.#isHeld = true;
    try {
      return await work();
    } finally {
      this.#isHeld = false;
      this.change();
    }
  }
}
