import { Code, DevtoolError } from "../errors.ts";

/**
 * Tells the operator once that the store refuses what tasks append, and once
 * that it takes it again, with the number of refusals.
 */
export class StoreFaults {
  readonly #onNotice: (text: string) => void;
  /** The refusal that was told last; empty while the store takes appends. */
  #told = "";
  #count = 0;

  constructor(onNotice: (text: string) => void) {
    this.#onNotice = onNotice;
  }

  /** Takes the error of an append. */
  note(reason: unknown): void {
    if (!isRefusal(reason)) return;
    this.#count++;
    if (this.#told === reason.problem) return;
    this.#told = reason.problem;
    this.#onNotice(`tasks cannot be stored: ${reason.message}`);
  }

  /** Takes an append that succeeded. */
  noteSuccess(): void {
    if (this.#count === 0) return;
    const times = this.#count === 1 ? "refusal" : "refusals";
    this.#onNotice(
      `tasks can be stored again, after ${this.#count} ${times}: ${this.#told}`,
    );
    this.#told = "";
    this.#count = 0;
  }
}

/** Whether a store refuses an append because it cannot write now. */
export function isRefusal(reason: unknown): reason is DevtoolError {
  return (
    reason instanceof DevtoolError &&
    [Code.ResourceExhausted, Code.Unavailable].includes(reason.code)
  );
}
