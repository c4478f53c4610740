import type { AppServer } from "./app-server/app-server.ts";

/**
 * The app-servers of an agent: one for each thread in which Codex works, and some that are idle.
 *
 * A thread is loaded in one app-server at most, so that no two write its history.
 */
export class ThreadPool implements AsyncDisposable {
  readonly #maxIdle: number;
  /** The threads that a turn uses. */
  readonly #busy = new Set<string>();
  /** The idle app-servers by thread, the least recently used first. */
  readonly #idle = new Map<string, AppServer>();

  constructor(maxIdle: number) {
    this.#maxIdle = maxIdle;
  }

  /** Whether a turn uses the thread. */
  isBusy(threadId: string): boolean {
    return this.#busy.has(threadId);
  }

  /** Marks a thread as used by a turn. Returns the app-server in which it is loaded, if one is idle. */
  take(threadId: string): AppServer | undefined {
    this.#busy.add(threadId);
    const server = this.#idle.get(threadId);
    this.#idle.delete(threadId);
    return server?.failure ? undefined : server;
  }

  /** Ends the use of a thread that could not be loaded. */
  drop(threadId: string): void {
    this.#busy.delete(threadId);
  }

  /** Ends the use of a thread. Keeps its app-server, and ends those that are idle for longest. */
  async giveBack(threadId: string, server: AppServer): Promise<void> {
    this.#busy.delete(threadId);
    if (server.failure) return;
    this.#idle.set(threadId, server);
    const [oldest] = this.#idle;
    if (!oldest || this.#idle.size <= this.#maxIdle) return;
    this.#idle.delete(oldest[0]);
    await oldest[1][Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const servers = [...this.#idle.values()];
    this.#idle.clear();
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  }
}
