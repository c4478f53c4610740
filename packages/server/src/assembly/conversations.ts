import type { Task } from "@devtool/schema";
import type { Model, ModelRequest } from "../agent/model.ts";
import { withoutQuestions } from "../agent/questions.ts";
import type { Conversations } from "../command/services.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { SessionRegistry } from "../task/session-registry.ts";

/** So many of a context's latest tasks are looked at for the conversation. */
const MAX_LOOKED_AT = 50;

/** The conversations that commands are typed in, as the registry has them. */
export function createConversations(
  { registry, store }: { readonly registry: SessionRegistry; readonly store: TaskStore },
  model: Model,
): Conversations {
  return {
    async find({ contextId, principal }) {
      if (contextId === "") return undefined;
      const { tasks } = await store.list({ contextId, principal, limit: MAX_LOOKED_AT });
      for (const { taskId } of tasks) {
        const task = (await registry.get(taskId))?.task;
        if (task && !task.command) return task;
      }
      return undefined;
    },
    async compress(taskId, signal) {
      const { compress } = await import("../agent/compress.ts");
      const session = await registry.get(taskId);
      let before = 0;
      const summary = await session?.summarize(async (task) => {
        before = task.history.length;
        return compress(model, requestOf(task), signal);
      });
      return summary ? before - summary.keptMessages : 0;
    },
  };
}

function requestOf({ history, settings }: Task): ModelRequest {
  return {
    history: withoutQuestions(history),
    tools: [],
    workspacePath: settings?.workspacePath ?? "",
    instructions: async () => "",
    model: "",
  };
}
