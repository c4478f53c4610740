import type { JsonObject } from "@bufbuild/protobuf";
import type { AppServer } from "./app-server/app-server.ts";

/** An app-server in which a thread is loaded. */
export interface LoadedThread {
  readonly server: AppServer;
  /**
   * The policy (`SandboxPolicy`) with which Codex opened the thread for
   * writing; empty if it was opened for reading only.
   */
  readonly sandbox: JsonObject;
  /** The fence of the turns in which it was loaded (`Turn.sessionFence`). */
  readonly fence: bigint;
  /** The model with which Codex opened the thread; empty if it did not say. */
  readonly model: string;
  /** Who provides it, by the key in Codex's configuration; empty likewise. */
  readonly provider: string;
}

/**
 * The app-servers of an agent: one for each thread in which Codex works, and
 * some that are idle.
 *
 * A thread is loaded in one app-server at most, so that no two write its
 * history.
 */
export class ThreadPool implements AsyncDisposable {
  readonly #maxIdle: number;
  /** The threads that a turn uses. */
  readonly #busy = new Set<string>();
  /** The idle app-servers by thread, the least recently used first. */
  readonly #idle = new Map<string, LoadedThread>();

  constructor(maxIdle: number) {
    this.#maxIdle = maxIdle;
  }

  /** Whether a turn uses the thread. */
  isBusy(threadId: string): boolean {
    return this.#busy.has(threadId);
  }

  /**
   * Marks a thread as used by a turn. Returns the app-server in which it is
   * loaded, if one is idle.
   */
  take(threadId: string): LoadedThread | undefined {
    this.#busy.add(threadId);
    const thread = this.#idle.get(threadId);
    this.#idle.delete(threadId);
    return thread?.server.failure ? undefined : thread;
  }

  /**
   * Ends the use of a thread that was not loaded, or that the turn does not
   * continue.
   */
  drop(threadId: string): void {
    this.#busy.delete(threadId);
  }

  /**
   * Ends the use of a thread. Keeps its app-server, and ends those that are
   * idle for longest.
   */
  async giveBack(threadId: string, thread: LoadedThread): Promise<void> {
    this.#busy.delete(threadId);
    if (thread.server.failure) return;
    this.#idle.set(threadId, thread);
    const [oldest] = this.#idle;
    if (!oldest || this.#idle.size <= this.#maxIdle) return;
    this.#idle.delete(oldest[0]);
    await oldest[1].server[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const threads = [...this.#idle.values()];
    this.#idle.clear();
    await Promise.all(
      threads.map(({ server }) => server[Symbol.asyncDispose]()),
    );
  }
}
