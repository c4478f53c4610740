import type { DevtoolClient } from "@devtool/client";
import type { Task } from "@devtool/schema";
import { reasonOf } from "./error-text.ts";
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
  /** Whether the turn waits for its server to start again. */
  readonly isServerGone: () => boolean;
}

/** The server must say how a task is within this time after a turn failed, in milliseconds. */
const LATEST_MS = 5_000;

/** Turns Ctrl-C into the end of a turn, and a second one, or one between turns, into the end of the chat. */
export class Interrupts {
  /** Whether the chat was ended in the middle of a turn. */
  leaving = false;
  readonly #options: InterruptOptions;
  #turn: AbortController | undefined;
  #canceling = false;
  /** Whether the turn was left while its server was gone. */
  #isAbandoned = false;

  constructor(options: InterruptOptions) {
    this.#options = options;
    options.io.onInterrupt(() => this.#interrupted());
  }

  /** Runs a turn. Gives the task as it is then, also when the turn was canceled or failed; that is said. */
  async during(turn: (signal: AbortSignal) => Promise<Task>): Promise<Task> {
    this.#isAbandoned = false;
    this.#turn = new AbortController();
    try {
      return await turn(this.#turn.signal);
    } catch (reason) {
      writeLine(this.#options.io.stderr, this.#canceling ? this.#canceled() : visible(reasonOf(reason)));
      return await this.#latest();
    } finally {
      this.#turn = undefined;
      this.#canceling = false;
    }
  }

  /** The task as the server has it; as it was seen last, when the server does not answer in time. */
  async #latest(): Promise<Task> {
    const running = this.#options.running();
    if (running.id === "" || this.leaving || this.#isAbandoned) return running;
    try {
      const { tasks } = this.#options.client;
      const { task } = await tasks.getTask({ taskId: running.id }, { signal: AbortSignal.timeout(LATEST_MS) });
      return task ?? running;
    } catch {
      return running;
    }
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

  #canceled(): string {
    return this.#isAbandoned ? "not canceled: the server is gone, and has the task when it starts again" : "canceled";
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
    const canceled = id === "" ? Promise.resolve() : client.tasks.cancelTask({ taskId: id });
    Promise.resolve(canceled)
      .catch(() => undefined)
      .finally(() => turn.abort());
  }
}
