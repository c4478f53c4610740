import type { DevtoolClient } from "@devtool/client";
import type { Task } from "@devtool/schema";
import { type Io, writeLine } from "./io.ts";
import type { Prompter } from "./prompter.ts";
import { visible } from "./render/style.ts";

/** What Ctrl-C acts on. */
export interface InterruptOptions {
  readonly client: DevtoolClient;
  readonly io: Io;
  readonly prompter: Prompter;
  /** The task that is worked on now; its id is empty while there is none. */
  readonly running: () => Task;
}

/** Turns Ctrl-C into the end of a turn, and a second one, or one between turns, into the end of the chat. */
export class Interrupts {
  /** Whether the chat was ended in the middle of a turn. */
  leaving = false;
  readonly #options: InterruptOptions;
  #turn: AbortController | undefined;
  #canceling = false;

  constructor(options: InterruptOptions) {
    this.#options = options;
    options.io.onInterrupt(() => this.#interrupted());
  }

  /** Runs a turn. Gives the task as it is then, also when the turn was canceled or failed; that is said. */
  async during(turn: (signal: AbortSignal) => Promise<Task>): Promise<Task> {
    this.#turn = new AbortController();
    try {
      return await turn(this.#turn.signal);
    } catch (reason) {
      const message = reason instanceof Error ? reason.message : String(reason);
      writeLine(this.#options.io.stderr, this.#canceling ? "canceled" : visible(message));
      return await this.#latest();
    } finally {
      this.#turn = undefined;
      this.#canceling = false;
    }
  }

  async #latest(): Promise<Task> {
    const running = this.#options.running();
    if (running.id === "" || this.leaving) return running;
    const { task } = await this.#options.client.tasks.getTask({ taskId: running.id });
    return task ?? running;
  }

  #interrupted(): void {
    if (this.#turn && !this.#canceling) {
      this.#cancel(this.#turn);
    } else {
      this.leaving = this.#turn !== undefined;
      this.#turn?.abort();
      this.#options.prompter[Symbol.dispose]();
    }
  }

  #cancel(turn: AbortController): void {
    this.#canceling = true;
    const { client, running } = this.#options;
    const { id } = running();
    const canceled = id === "" ? Promise.resolve() : client.tasks.cancelTask({ taskId: id });
    Promise.resolve(canceled)
      .catch(() => undefined)
      .finally(() => turn.abort());
  }
}
