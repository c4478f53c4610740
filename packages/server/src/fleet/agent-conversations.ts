import type { AgentConversations, ConversationKey } from "../agent/agent.ts";
import type { TaskStore } from "../store/task-store.ts";
import { listTaskIds, readTask } from "../task/read-task.ts";
import type { Budgets } from "../task/turn-budget.ts";
import type { OpenTasks } from "./open-tasks.ts";

/**
 * The maximum number of a context's latest tasks that are searched for one that
 * a message created.
 */
const MAX_SEARCHED = 50;

/** Creates the access to a server's conversations for its agents. */
export function createAgentConversations(
  registry: OpenTasks,
  store: TaskStore,
  budgets: Budgets,
): AgentConversations {
  return {
    async find({ contextId, principal }, content = "all") {
      if (contextId === "") return undefined;
      const { tasks } = await store.list({
        contextId,
        principal,
        limit: MAX_SEARCHED,
      });
      for (const { last } of tasks) {
        using held = await registry.get(last.taskId);
        if (!held || held.handle.task.command) continue;
        const { handle } = held;
        return content === "all" ? await handle.whole() : handle.task;
      }
      return undefined;
    },
    async *tasks(conversation, content, signal) {
      const need = content === "all" ? "all" : "none";
      for await (const taskId of idsOf(store, conversation)) {
        signal.throwIfAborted();
        const task = await readTask(store, taskId, need);
        if (task) yield task;
      }
    },
    async summarize(taskId, make) {
      using held = await registry.get(taskId);
      return await held?.handle.summarize(make);
    },
    spending: (conversation, signal) =>
      budgets.spending(idsOf(store, conversation), signal),
  };
}

/** Yields the ids of the tasks of a conversation; none for a new one. */
async function* idsOf(
  store: TaskStore,
  { contextId, principal }: ConversationKey,
): AsyncIterable<string> {
  if (contextId !== "") yield* listTaskIds(store, { contextId, principal });
}
