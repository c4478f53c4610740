import { isTerminal, type Message, summaryOf, type Task } from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";
import { readTask } from "./read-task.ts";

/** What one task goes on from. */
interface Known {
  readonly taskId: string;
  readonly before: readonly Message[];
  /** The tasks that were looked at for it. */
  readonly ids: Set<string>;
}

/**
 * The conversation that a task goes on from (STREAM-5), oldest first: that of the tasks which its first message refers to,
 * and of those which theirs do. Only what has ended counts, in the same context and of the same principal; other
 * references are only words. Empty for a task that refers to none.
 *
 * What was read last is kept for the next task of the conversation, which in A2A 1.0 refers to the last one: a turn reads
 * one log, however many tasks came before it.
 */
export class EarlierConversation {
  #known: Known | undefined;
  /** The tasks that changed since each read began that has not ended. */
  readonly #reads = new Set<Set<string>>();

  /** Reads what a task goes on from. */
  async of(store: TaskStore, task: Task): Promise<readonly Message[]> {
    if (this.#known?.taskId === task.id) return this.#known.before;
    if ((task.history[0]?.referenceTaskIds ?? []).length === 0) return [];
    const changed = new Set<string>();
    this.#reads.add(changed);
    const found = await this.#read(store, task).finally(() => this.#reads.delete(changed));
    if (![...changed].some((id) => found.ids.has(id))) this.#known = found;
    return found.before;
  }

  /** Notes that the log of a task has grown: what was read of it no longer holds. */
  noteChange(taskId: string): void {
    if (this.#known?.ids.has(taskId)) this.#known = undefined;
    for (const changed of this.#reads) changed.add(taskId);
  }

  async #read(store: TaskStore, task: Task): Promise<Known> {
    const known = this.#known;
    const [id, ...others] = task.history[0]?.referenceTaskIds ?? [];
    if (known && known.taskId === id && others.length === 0 && !known.ids.has(task.id)) {
      const earlier = await readTask(store, id);
      if (this.#known === known && earlier && isContinued(earlier, task)) {
        const before = reachesBack(earlier.history) ? known.before : [];
        // Handed on, not copied: from now on it is what the newer task goes on from.
        return { taskId: task.id, before: [...before, ...earlier.history], ids: known.ids.add(id) };
      }
    }
    const seen = new Set([task.id]);
    const before = await messagesBefore(store, task, seen);
    seen.delete(task.id);
    return { taskId: task.id, before, ids: seen };
  }
}

async function messagesBefore(store: TaskStore, task: Task, seen: Set<string>): Promise<readonly Message[]> {
  const found: Message[] = [];
  for (const id of task.history[0]?.referenceTaskIds ?? []) {
    if (seen.has(id)) continue;
    seen.add(id);
    const earlier = await readTask(store, id);
    if (!earlier || !isContinued(earlier, task)) continue;
    const before = reachesBack(earlier.history) ? await messagesBefore(store, earlier, seen) : [];
    found.push(...before, ...earlier.history);
  }
  return found;
}

function isContinued(earlier: Task, { principal, contextId }: Task): boolean {
  return earlier.principal === principal && earlier.contextId === contextId && isTerminal(earlier.state);
}

/** Tells whether anybody is told what stands before a history: not when a summary in it stands for all of that. */
function reachesBack(history: readonly Message[]): boolean {
  return !history.some((message, index) => {
    const summary = summaryOf(message);
    return summary !== undefined && summary.keptMessages <= index;
  });
}
