import { Semaphore } from "@devtool/internal/semaphore";
import type { FileAccess } from "@devtool/policy";
import { Code, DevtoolError } from "@devtool/server/agent";

const MAX_SEARCH_MS = 20_000;
const MAX_SEARCHES = 4;

/** Runs the searches of a server, at most four at the same time. */
export class Searches {
  readonly #turns = new Semaphore(MAX_SEARCHES);
  readonly #maxMs: number;

  /**
   * `maxMs` is the maximum duration of a search in milliseconds. Default:
   * 20,000.
   */
  constructor(maxMs: number = MAX_SEARCH_MS) {
    this.#maxMs = maxMs;
  }

  /**
   * Runs a search once fewer than the maximum run. Throws
   * `Code.DeadlineExceeded` when it takes too long.
   */
  async run<T>(
    search: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    using _turn = await this.#turns.acquire(signal);
    const timeout = AbortSignal.timeout(this.#maxMs);
    try {
      return await search(AbortSignal.any([signal, timeout]));
    } catch (reason) {
      if (!timeout.aborted || signal.aborted) throw reason;
      throw new DevtoolError(
        `the search took longer than ${this.#maxMs} ms`,
        Code.DeadlineExceeded,
        { remedy: "simplify the pattern or name a smaller directory" },
      );
    }
  }
}

/** Options of the tools that search or list files. */
export interface SearchOptions {
  /** The files that they may show. Default: every file. */
  readonly access?: FileAccess;
  /** The searches of the server. Default: separate ones for the tool. */
  readonly searches?: Searches;
  /**
   * Receives notices for the operator, as plain text. Default: ignores them.
   */
  readonly onNotice?: (text: string) => void;
}
