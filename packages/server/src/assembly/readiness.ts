import { DevtoolError } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";

/** How long the result of a check counts, in milliseconds: probes are public, and each check writes to the disk. */
const FRESH_MS = 500;

/** Dependencies of `Readiness`. */
export interface ReadinessOptions {
  readonly store: Pick<TaskStore, "assertWritable">;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
  /** The time in milliseconds. */
  readonly now: () => number;
}

/** Whether a server takes work: it runs, and what is done would be kept (R12). */
export class Readiness {
  readonly #options: ReadinessOptions;
  #checked: { readonly at: number; readonly problem: Promise<string> } | undefined;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** Why the server takes no work, as of half a second ago at most; empty when it does. */
  async problem(): Promise<string> {
    const { shutdown, now } = this.#options;
    if (shutdown.aborted) return "the server stops";
    if (!this.#checked || now() - this.#checked.at >= FRESH_MS) this.#checked = { at: now(), problem: this.#check() };
    return this.#checked.problem;
  }

  #check(): Promise<string> {
    return this.#options.store.assertWritable().then(
      () => "",
      (reason: unknown) => DevtoolError.from(reason).message,
    );
  }
}
