import { isTerminal, type Message, type Task } from "@devtool/schema";
import { summaryOf } from "../agent/history.ts";
import type { TaskStore } from "../store/task-store.ts";
import { readTask } from "./read-task.ts";

/**
 * The conversation that a task goes on from (STREAM-5), oldest first: that of the tasks which its first message refers to,
 * and of those which theirs do. Only what has ended counts, in the same context and of the same principal; other
 * references are only words. Empty for a task that refers to none.
 */
export function earlierConversation(store: TaskStore, task: Task): Promise<readonly Message[]> {
  return messagesBefore(store, task, new Set([task.id]));
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
