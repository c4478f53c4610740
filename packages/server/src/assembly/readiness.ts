import { DevtoolError } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";

/**
 * The time in milliseconds for which the result of a check is reused. Probes
 * need no credentials, and each check writes to the disk.
 */
const MAX_AGE_MS = 500;

interface ReadinessOptions {
  readonly store: Pick<TaskStore, "assertWritable">;
  /** Aborts when the server closes. */
  readonly shutdown: AbortSignal;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
}

/**
 * Whether a server accepts work: it is not closing, and its store can be
 * written (R12).
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  #checked:
    | { readonly at: number; readonly problem: Promise<string> }
    | undefined;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /**
   * Returns why the server accepts no work, from a check that is at most 500 ms
   * old; empty when it does.
   */
  async problem(): Promise<string> {
    const { store, shutdown, now } = this.#options;
    if (shutdown.aborted) return "the server stops";
    if (!this.#checked || now() - this.#checked.at >= MAX_AGE_MS) {
      const problem = store.assertWritable().then(
        () => "",
        (reason: unknown) => DevtoolError.from(reason).message,
      );
      this.#checked = { at: now(), problem };
    }
    return this.#checked.problem;
  }
}
