import { oneLine } from "@devtool/internal/visible-text";
import { errorMessage } from "../errors.ts";

/**
 * Tells the operator that a collector does not take what is sent, in one line
 * for each outage.
 */
export class CollectorFaults {
  readonly #place: string;
  readonly #onNotice: (text: string) => void;
  #failures = 0;
  #lost = 0;

  /** @param url where the collector is; what is secret in it is not shown */
  constructor(url: string, onNotice: (text: string) => void) {
    const { origin, pathname } = new URL(url);
    this.#place = `${origin}${pathname}`;
    this.#onNotice = onNotice;
  }

  /** Notes that a batch was not taken, and is lost. */
  note(reason: unknown, spans: number): void {
    this.#failures++;
    this.#lost += spans;
    if (this.#failures > 1) return;
    const why = oneLine(errorMessage(reason), 200);
    this.#onNotice(`telemetry: cannot send spans to ${this.#place}: ${why}`);
  }

  /** Notes that a batch was taken. */
  noteSuccess(): void {
    if (this.#failures === 0) return;
    this.#onNotice(
      `telemetry: sends spans to ${this.#place} again: ${this.#summary()}`,
    );
    this.#failures = 0;
    this.#lost = 0;
  }

  /** Tells what an outage that has not ended cost. */
  close(): void {
    if (this.#failures < 2) return;
    this.#onNotice(
      `telemetry: could not send spans to ${this.#place}: ${this.#summary()}`,
    );
  }

  #summary(): string {
    return `${this.#failures} requests failed, ${this.#lost} spans are lost`;
  }
}
