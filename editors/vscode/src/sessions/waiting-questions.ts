import { type DevtoolClient, pendingToolCalls } from "@devtool/client";
import type { TaskSummary } from "@devtool/schema";
import type { Question } from "./question.ts";
import { isWaiting } from "./session-tree.ts";

interface Known {
  readonly sequence: bigint;
  readonly questions: readonly Question[];
}

/**
 * What the waiting sessions of a list ask. Each is read once for each of its
 * events.
 */
export class WaitingQuestions {
  readonly #client: DevtoolClient;
  #known: ReadonlyMap<string, Known> = new Map();

  constructor(client: DevtoolClient) {
    this.#client = client;
  }

  /** The questions of each session, by its id, as far as they were read. */
  get(): ReadonlyMap<string, readonly Question[]> {
    return new Map(
      [...this.#known].map(([id, { questions }]) => [id, questions]),
    );
  }

  /** Reads what is asked now. Rejects when the server fails. */
  async read(
    sessions: readonly TaskSummary[],
    signal: AbortSignal,
  ): Promise<void> {
    const before = this.#known;
    const known = new Map<string, Known>();
    for (const { id, lastEvent } of sessions.filter(isWaiting)) {
      const last = before.get(id);
      const isCurrent = last && last.sequence >= (lastEvent?.sequence ?? 0n);
      known.set(id, isCurrent ? last : await this.#readOne(id, signal));
    }
    this.#known = known;
  }

  async #readOne(taskId: string, signal: AbortSignal): Promise<Known> {
    const { task } = await this.#client.tasks.getTask({ taskId }, { signal });
    if (!task) return { sequence: 0n, questions: [] };
    const questions = pendingToolCalls(task).map((call) => ({
      client: this.#client,
      taskId,
      call,
    }));
    return { sequence: task.sequence, questions };
  }
}
