import type { FileAccess } from "@devtool/policy";
import { Code, DevtoolError, Semaphore } from "@devtool/server/agent";

/** The maximum time of one search, in milliseconds. */
const MAX_SEARCH_MS = 20_000;

/** The maximum number of searches that a server runs at a time. */
const MAX_SEARCHES = 4;

/** The searches of a server: few at a time, each for a bounded time. */
export class Searches {
  readonly #turns = new Semaphore(MAX_SEARCHES);
  readonly #maxMs: number;

  constructor(maxMs: number = MAX_SEARCH_MS) {
    this.#maxMs = maxMs;
  }

  /** Runs a search when it is its turn. Throws `Code.DeadlineExceeded` when it takes too long. */
  async run<T>(search: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    using _turn = await this.#turns.acquire(signal);
    const timeout = AbortSignal.timeout(this.#maxMs);
    try {
      return await search(AbortSignal.any([signal, timeout]));
    } catch (reason) {
      throw timeout.aborted && !signal.aborted ? tooSlow() : reason;
    }
  }
}

/** What tools work with that go over the files of a workspace. */
export interface SearchOptions {
  /** Which files they may show. Default: every file. */
  readonly access?: FileAccess;
  /** The searches of the server. Default: their own. */
  readonly searches?: Searches;
  /** Takes what the operator should know, in words. Default: nobody is told. */
  readonly onNotice?: (text: string) => void;
}

function tooSlow(): DevtoolError {
  return new DevtoolError(`the search took longer than ${MAX_SEARCH_MS} ms`, Code.DeadlineExceeded, {
    remedy: "simplify the pattern or name a smaller directory",
  });
}
