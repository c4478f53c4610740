import { Semaphore } from "@devtool/internal/semaphore";

/**
 * Lets one run at a time say something to a thread. Two runs that find no task
 * in it at the same moment would each begin the same one, and a server opens a
 * task once. The store does that for the runs of other servers.
 */
export class ThreadTurns {
  readonly #turns = new Map<string, Semaphore>();

  /**
   * Waits for the turn in a thread of a caller. Disposing of the result ends
   * the turn.
   */
  async acquire(
    principal: string,
    threadId: string,
    signal: AbortSignal,
  ): Promise<Disposable> {
    const key = JSON.stringify([principal, threadId]);
    const turns = this.#turns.get(key) ?? new Semaphore(1);
    this.#turns.set(key, turns);
    const turn = await turns.acquire(signal);
    return {
      [Symbol.dispose]: () => {
        turn[Symbol.dispose]();
        if (turns.isIdle) this.#turns.delete(key);
      },
    };
  }
}
