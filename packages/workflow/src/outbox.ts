import type { AgentEvent, CallUpdate } from "@devtool/server/agent";

interface Waiting {
  readonly updates: readonly CallUpdate[];
  readonly recorded: () => void;
}

/**
 * Hands updates of calls that run side by side to the turn that records them:
 * all that are ready at once, for one append.
 */
export class Outbox {
  #waiting: Waiting[] = [];
  #wake = Promise.withResolvers<void>();
  #isClosed = false;

  /** Resolves when the turn has recorded the updates. */
  put(updates: readonly CallUpdate[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ updates, recorded: resolve });
    this.#wake.resolve();
    return promise;
  }

  /** Ends `events` once all is recorded. */
  close(): void {
    this.#isClosed = true;
    this.#wake.resolve();
  }

  async *events(): AsyncIterable<AgentEvent> {
    for (;;) {
      await this.#wake.promise;
      const batch = this.#waiting;
      if (batch.length === 0 && this.#isClosed) return;
      this.#waiting = [];
      if (!this.#isClosed) this.#wake = Promise.withResolvers();
      if (batch.length === 0) continue;
      yield {
        case: "toolCalls",
        value: batch.flatMap(({ updates }) => updates),
      };
      for (const { recorded } of batch) recorded();
    }
  }
}
