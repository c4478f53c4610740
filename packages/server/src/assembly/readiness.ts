import { DevtoolError } from "../errors.ts";
import {
  type OpenOperation,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";
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
  /** What the server's observer hears. Default: there is none. */
  readonly operations?: Operations | undefined;
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
  /** The outage that lasts, with its reason. */
  #outage:
    | { readonly problem: string; readonly operation: OpenOperation }
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
      const problem = store
        .assertWritable()
        .then(
          () => "",
          (reason: unknown) => DevtoolError.from(reason).message,
        )
        .then((found) => this.#observed(found));
      this.#checked = { at: now(), problem };
    }
    return this.#checked.problem;
  }

  /** Tells the observer when an outage begins, has another reason, or ends. */
  #observed(problem: string): string {
    if (problem === this.#outage?.problem) return problem;
    this.#outage?.operation.finish(SUCCEEDED);
    const operation =
      problem === ""
        ? undefined
        : this.#options.operations?.begin({ kind: "outage", name: problem });
    this.#outage = operation && { problem, operation };
    return problem;
  }
}
