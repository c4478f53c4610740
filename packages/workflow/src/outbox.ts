import {
  type AgentEvent,
  type CallUpdate,
  Code,
  DevtoolError,
} from "@devtool/server/agent";

interface Waiting {
  readonly updates: readonly CallUpdate[];
  readonly recorded: PromiseWithResolvers<void>;
}

/**
 * Hands updates of calls that run side by side to the turn that records them:
 * all that are ready at once, for one append.
 */
export class Outbox {
  #waiting: Waiting[] = [];
  #wake = Promise.withResolvers<void>();
  #isClosed = false;
  #hasEnded = false;

  /**
   * Resolves when the turn has recorded the updates. Rejects with
   * `Code.Aborted` when the turn has ended without.
   */
  async put(updates: readonly CallUpdate[]): Promise<void> {
    if (this.#hasEnded) throw notRecorded();
    const recorded = Promise.withResolvers<void>();
    this.#waiting.push({ updates, recorded });
    this.#wake.resolve();
    return recorded.promise;
  }

  /** Ends `events` once all is recorded. */
  close(): void {
    this.#isClosed = true;
    this.#wake.resolve();
  }

  async *events(): AsyncIterable<AgentEvent> {
    let batch: readonly Waiting[] = [];
    try {
      for (;;) {
        await this.#wake.promise;
        batch = this.#waiting;
        if (batch.length === 0 && this.#isClosed) return;
        this.#waiting = [];
        if (!this.#isClosed) this.#wake = Promise.withResolvers();
        if (batch.length === 0) continue;
        yield {
          case: "toolCalls",
          value: batch.flatMap(({ updates }) => updates),
        };
        for (const { recorded } of batch) recorded.resolve();
      }
    } finally {
      this.#hasEnded = true;
      for (const { recorded } of [...batch, ...this.#waiting]) {
        recorded.reject(notRecorded());
      }
    }
  }
}

function notRecorded(): DevtoolError {
  return new DevtoolError("the turn has ended", Code.Aborted);
}
