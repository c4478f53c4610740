import { setTimeout as delay } from "node:timers/promises";
import { median } from "./load/row.ts";
import { type SubjectCommand, startSubject } from "./subject.ts";

/** A server is at rest this long after it listens, in milliseconds. */
const AT_REST_MS = 1500;

/** What a start takes, and how much memory the server has at rest. */
export interface Cost {
  readonly startMs: number;
  readonly startCpuMs: number;
  readonly restingMb: number;
}

/** Starts of a server. */
export class Starts {
  readonly #command: SubjectCommand;
  readonly #costs: Cost[] = [];

  constructor(command: SubjectCommand) {
    this.#command = command;
  }

  /** Starts it once more, and waits until it is at rest. */
  async measureNext(): Promise<void> {
    await using subject = await startSubject(this.#command);
    await delay(AT_REST_MS);
    this.#costs.push({
      startMs: subject.listeningMs,
      startCpuMs: subject.listeningCpuMs,
      restingMb: subject.memoryMb(),
    });
  }

  /** The medians of all starts but the first, of which Node keeps code. */
  cost(): Cost {
    const costs = this.#costs.slice(1);
    return {
      startMs: median(costs.map(({ startMs }) => startMs)),
      startCpuMs: median(costs.map(({ startCpuMs }) => startCpuMs)),
      restingMb: median(costs.map(({ restingMb }) => restingMb)),
    };
  }
}
