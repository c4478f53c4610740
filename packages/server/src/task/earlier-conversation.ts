import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import { objectOrEmpty } from "@devtool/internal/json";
import {
  isTerminal,
  type Message,
  summaryOf,
  type Task,
} from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";
import { isStored, readTask } from "./read-task.ts";
import type { HistoryNeed } from "./task-head.ts";

/** What was said before a task. */
export interface Earlier {
  readonly before: readonly Message[];
  /** The ids of tasks that it continues and that do not exist any more. */
  readonly missing: readonly string[];
}

/** The maximum number of tasks to list at a time. */
const PAGE = 100;

const NONE: Earlier = { before: [], missing: [] };

/** The tasks that were read so far. */
interface Visited {
  readonly need: HistoryNeed;
  /** The context of the task whose conversation is read. */
  readonly contextId: string;
  readonly ids: Set<string>;
  readonly elsewhere: Elsewhere[];
  readonly missing: string[];
  isPreliminary: boolean;
}

/** A task of another conversation. */
type Elsewhere = Pick<Task, "id" | "contextId">;

/** The messages before one task, and the tasks that they were read from. */
interface Known {
  readonly taskId: string;
  /** What the messages have of their content. */
  readonly need: HistoryNeed;
  readonly before: readonly Message[];
  /**
   * The ids of all tasks that were read, including those that were not
   * continued.
   */
  readonly ids: Set<string>;
  /**
   * Those in other conversations whose messages are among them. When another
   * server deletes one, `noteChange` is told by a hint that can be lost.
   */
  readonly elsewhere: readonly Elsewhere[];
  /** The ids of tasks that are continued and do not exist any more. */
  readonly missing: readonly string[];
  /**
   * Whether one of them is missing or has not ended. It may end later, at
   * another server too, and belongs to the conversation then.
   */
  isPreliminary: boolean;
}

/**
 * Reads the messages of the tasks that a task continues (STREAM-5).
 *
 * A task continues the tasks that its first message refers to, and the tasks
 * that those continue. Only tasks that have ended count, of the same context
 * and principal; other references are ignored, and the task that calls it is
 * not even read. A fork (`Message.fork`) continues a task of another context, up
 * to the event that it names, whether or not that has ended.
 *
 * The last result is kept for the next task of the conversation, which in A2A
 * 1.0 refers to the last one. A turn therefore reads one log, however many
 * tasks came before.
 */
export class EarlierConversation {
  #known: Known | undefined;
  /** For each read in progress, the tasks that changed since it began. */
  readonly #reads = new Set<Set<string>>();

  /**
   * Returns the messages before a task, oldest first, and the tasks that it
   * continues and that do not exist; empty for a task that continues none.
   *
   * @param need how much of their content the agent needs
   */
  async of(
    store: TaskStore,
    task: Task,
    need: HistoryNeed = "for-model",
  ): Promise<Earlier> {
    if (this.#known?.need !== need) this.#known = undefined;
    const { elsewhere } = this.#known ?? {};
    if (elsewhere && !(await hasAll(store, task.principal, elsewhere))) {
      this.#known = undefined;
    }
    if (this.#known?.taskId === task.id) return this.#known;
    if (continuedBy(task).length === 0) return NONE;
    const changed = new Set<string>();
    this.#reads.add(changed);
    const found = await this.#read(store, task, need).finally(() =>
      this.#reads.delete(changed),
    );
    if (!found.isPreliminary && ![...changed].some((id) => found.ids.has(id))) {
      this.#known = found;
    }
    return found;
  }

  /**
   * Records that the log of a task has grown or was deleted, so that results
   * that include the task are read again.
   */
  noteChange(taskId: string): void {
    if (this.#known?.ids.has(taskId)) this.#known = undefined;
    for (const changed of this.#reads) changed.add(taskId);
  }

  async #read(store: TaskStore, task: Task, need: HistoryNeed): Promise<Known> {
    const known = this.#known;
    const [only, ...others] = continuedBy(task);
    if (
      only !== undefined &&
      known?.taskId === only.id &&
      only.last === undefined &&
      others.length === 0 &&
      !known.ids.has(task.id)
    ) {
      const { id } = only;
      const earlier = await readTask(store, id, need);
      if (
        this.#known === known &&
        earlier &&
        isContinued(earlier, only, task)
      ) {
        const before = reachesBack(earlier.history) ? known.before : [];
        // The set moves to the newer task instead of being copied.
        return {
          taskId: task.id,
          need,
          before: [...before, ...earlier.history],
          ids: known.ids.add(id),
          elsewhere: known.elsewhere,
          missing: [],
          isPreliminary: false,
        };
      }
    }
    const visited: Visited = {
      need,
      contextId: task.contextId,
      ids: new Set([task.id]),
      elsewhere: [],
      missing: [],
      isPreliminary: false,
    };
    const before = await readMessagesBefore(store, task, visited);
    visited.ids.delete(task.id);
    return { taskId: task.id, before, ...visited };
  }
}

/**
 * Reads the messages before a task, depth first. Skips the tasks in `visited`,
 * and adds those that it reads.
 */
async function readMessagesBefore(
  store: TaskStore,
  task: Task,
  visited: Visited,
): Promise<readonly Message[]> {
  const found: Message[] = [];
  for (const continued of continuedBy(task)) {
    const { id, last } = continued;
    if (visited.ids.has(id)) continue;
    visited.ids.add(id);
    const earlier = await readTask(store, id, visited.need, last);
    visited.isPreliminary ||=
      !earlier || (last === undefined && !isTerminal(earlier.state));
    // A task of somebody else is as one that is not there.
    if (earlier?.principal !== task.principal) visited.missing.push(id);
    if (!earlier || !isContinued(earlier, continued, task)) continue;
    const { contextId } = earlier;
    if (contextId !== visited.contextId) {
      visited.elsewhere.push({ id, contextId });
    }
    const said = continued.isBefore ? [] : earlier.history;
    const before = reachesBack(said)
      ? await readMessagesBefore(store, earlier, visited)
      : [];
    found.push(...before, ...said);
  }
  return found;
}

/** A task that another one continues. */
interface Continued {
  readonly id: string;
  /**
   * The sequence of its last event that counts, for a fork. Default: all of a
   * task of the same context that has ended.
   */
  readonly last?: bigint;
  /** Whether only what was said before the task counts. */
  readonly isBefore?: boolean;
}

/**
 * Returns the tasks that a task names as those that it continues, without the
 * task that calls it.
 */
function continuedBy({ history: [first] }: Task): readonly Continued[] {
  const chain = objectOrEmpty(first?.metadata?.[CALL_CHAIN_URI]);
  const ids = first?.referenceTaskIds ?? [];
  const references = ids
    .filter((id) => id !== chain.parentTaskId)
    .map((id) => ({ id }));
  if (!first?.fork) return references;
  const { taskId: id, lastSequence: last } = first.fork;
  // The first event has the references of the task.
  const fork = last === 0n ? { id, last: 1n, isBefore: true } : { id, last };
  return [fork, ...references];
}

function isContinued(
  earlier: Task,
  { last }: Continued,
  { principal, contextId }: Task,
): boolean {
  if (earlier.principal !== principal) return false;
  return (
    last !== undefined ||
    (earlier.contextId === contextId && isTerminal(earlier.state))
  );
}

/**
 * Whether the store has all of some tasks of a principal. Lists their contexts
 * from the latest task on, as long as that finds some: a store is asked once for
 * many. Then asks for each of the others.
 */
async function hasAll(
  store: TaskStore,
  principal: string,
  tasks: readonly Elsewhere[],
): Promise<boolean> {
  const left = new Set(tasks.map(({ id }) => id));
  for (const contextId of new Set(tasks.map((task) => task.contextId))) {
    let cursor: string | undefined;
    let before: number;
    do {
      before = left.size;
      const limit = Math.min(PAGE, before);
      const page = await store.list({ principal, contextId, limit, cursor });
      for (const { last } of page.tasks) left.delete(last.taskId);
      cursor = page.cursor;
    } while (cursor !== undefined && left.size > 0 && left.size < before);
  }
  for (const id of left) if (!(await isStored(store, id))) return false;
  return true;
}

/**
 * Whether the messages before a history are needed: not when a summary in it
 * replaces everything before.
 */
function reachesBack(history: readonly Message[]): boolean {
  return !history.some((message, index) => {
    const summary = summaryOf(message);
    return summary !== undefined && summary.keptMessages <= index;
  });
}
