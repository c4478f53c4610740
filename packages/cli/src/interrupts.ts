import type { DevtoolClient } from "@devtool/client";
import type { Task } from "@devtool/schema";
import { userMessage } from "./error-text.ts";
import { type Io, writeLine } from "./io.ts";
import type { Prompter } from "./prompter.ts";
import { indented } from "./render/style.ts";

/** Options of `Interrupts`. */
interface InterruptOptions {
  readonly client: DevtoolClient;
  readonly io: Io;
  readonly prompter: Prompter;
  /** Returns the current task; its id is empty while there is none. */
  readonly running: () => Task;
  /**
   * Returns whether the server is gone, so that calls wait for it to start
   * again.
   */
  readonly isServerGone: () => boolean;
}

/** Timeout of reading a task after its turn failed, in milliseconds. */
const LATEST_MS = 5_000;

/**
 * Handles Ctrl-C in a chat: the first one cancels the turn, a second one ends
 * the chat.
 *
 * Between turns it empties the input line, or ends the chat when that is empty.
 */
export class Interrupts {
  /** Whether the user left the chat during a turn. */
  leaving = false;
  readonly #options: InterruptOptions;
  #turn: AbortController | undefined;
  #canceling = false;
  /** Whether the turn was left while its server was not running. */
  #isAbandoned = false;

  constructor(options: InterruptOptions) {
    this.#options = options;
    options.io.onInterrupt(() => this.#interrupted());
  }

  /**
   * Runs a turn and returns the task as it is then. Prints why when the turn
   * was canceled or failed.
   */
  async during(turn: (signal: AbortSignal) => Promise<Task>): Promise<Task> {
    this.#isAbandoned = false;
    this.#turn = new AbortController();
    try {
      return await turn(this.#turn.signal);
    } catch (reason) {
      const canceled = this.#isAbandoned
        ? "not canceled: the server is not running; it will have the task when it starts again"
        : "canceled";
      writeLine(
        this.#options.io.stderr,
        this.#canceling ? canceled : indented(userMessage(reason)),
      );
      const running = this.#options.running();
      if (running.id === "" || this.leaving || this.#isAbandoned) {
        return running;
      }
      // When the server does not answer in time, the task is the one that was
      // last seen.
      const { tasks } = this.#options.client;
      const signal = AbortSignal.timeout(LATEST_MS);
      const latest = await tasks
        .getTask({ taskId: running.id }, { signal })
        .catch(() => undefined);
      return latest?.task ?? running;
    } finally {
      this.#turn = undefined;
      this.#canceling = false;
    }
  }

  /** Cancels the turn, if there is one. */
  cancelTurn(): void {
    if (this.#turn && !this.#canceling) this.#cancel(this.#turn);
  }

  #interrupted(): void {
    if (this.#turn && !this.#canceling) {
      this.#cancel(this.#turn);
    } else if (this.#turn || !this.#options.prompter.clear()) {
      this.leaving = this.#turn !== undefined;
      this.#turn?.abort();
      this.#options.prompter[Symbol.dispose]();
    }
  }

  #cancel(turn: AbortController): void {
    this.#canceling = true;
    this.#isAbandoned = this.#options.isServerGone();
    if (this.#isAbandoned) {
      turn.abort();
      return;
    }
    const { client, running } = this.#options;
    const { id } = running();
    const canceled =
      id === "" ? Promise.resolve() : client.tasks.cancelTask({ taskId: id });
    Promise.resolve(canceled)
      .catch(() => undefined)
      .finally(() => turn.abort());
  }
}
