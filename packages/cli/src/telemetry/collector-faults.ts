import { oneLine } from "@devtool/internal/visible-text";
import { errorMessage } from "../errors.ts";

/**
 * Tells the operator that a collector does not take what is sent, in one line
 * for each outage.
 */
export class CollectorFaults {
  readonly #place: string;
  readonly #what: "spans" | "metrics";
  readonly #onNotice: (text: string) => void;
  #failures = 0;
  #lost = 0;

  /** @param url where the collector is; what is secret in it is not shown */
  constructor(
    url: string,
    what: "spans" | "metrics",
    onNotice: (text: string) => void,
  ) {
    this.#what = what;
    const { origin, pathname } = new URL(url);
    this.#place = `${origin}${pathname}`;
    this.#onNotice = onNotice;
  }

  /**
   * Notes that a batch was not taken.
   *
   * @param lost how many of its elements are lost with it
   */
  note(reason: unknown, lost: number): void {
    this.#failures++;
    this.#lost += lost;
    if (this.#failures > 1) return;
    const why = oneLine(errorMessage(reason), 200);
    this.#onNotice(
      `telemetry: cannot send ${this.#what} to ${this.#place}: ${why}`,
    );
  }

  /** Notes that a batch was taken. */
  noteSuccess(): void {
    if (this.#failures === 0) return;
    this.#onNotice(
      `telemetry: sends ${this.#what} to ${this.#place} again: ${this.#summary()}`,
    );
    this.#failures = 0;
    this.#lost = 0;
  }

  /** Tells what an outage that has not ended cost. */
  close(): void {
    if (this.#failures < 2) return;
    this.#onNotice(
      `telemetry: could not send ${this.#what} to ${this.#place}: ${this.#summary()}`,
    );
  }

  #summary(): string {
    const failed = `${this.#failures} requests failed`;
    // The next metrics have all that was counted before.
    return this.#lost === 0
      ? failed
      : `${failed}, ${this.#lost} ${this.#what} are lost`;
  }
}
