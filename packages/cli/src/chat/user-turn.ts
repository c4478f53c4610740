import { userMessage } from "../error-text.ts";
import type { ChatTasks } from "./chat-tasks.ts";

/**
 * The turn of the agent that the user waits for: when it began, and the tokens
 * that it has used.
 */
export class UserTurn {
  /** Whether the turn is being canceled. */
  isCanceling = false;
  /**
   * When the turn began, on the clock of `performance.now`; undefined between
   * turns.
   */
  startedAt: number | undefined;
  readonly #tasks: ChatTasks;
  #usedBefore = 0n;

  constructor(tasks: ChatTasks) {
    this.#tasks = tasks;
  }

  /** The tokens that the turn has used so far. */
  get tokens(): bigint {
    return this.#used - this.#usedBefore;
  }

  /** Follows whether the agent works. */
  update(): void {
    if (!this.#tasks.isWorking) {
      this.startedAt = undefined;
    } else if (this.startedAt === undefined) {
      this.startedAt = performance.now();
      this.#usedBefore = this.#used;
    }
  }

  /**
   * Stops waiting for a turn that a server which is gone cannot cancel. Returns
   * a notice for the user.
   */
  abandon(): string {
    this.#tasks.abandon();
    return "not canceled: the server is not running; it will have the task when it starts again";
  }

  /**
   * Cancels the turn. Returns a notice for the user; empty if the task reports
   * the cancellation.
   */
  async cancel(): Promise<string> {
    this.isCanceling = true;
    try {
      return (await this.#tasks.cancel()) ? "" : "canceled";
    } catch (reason) {
      return `not canceled: ${userMessage(reason)}`;
    } finally {
      this.isCanceling = false;
    }
  }

  get #used(): bigint {
    const { usage } = this.#tasks.current.task;
    return (usage?.inputTokens ?? 0n) + (usage?.outputTokens ?? 0n);
  }
}
