import type { Task } from "@devtool/schema";
import type { AgentConversations } from "@devtool/server/agent";
import { compress } from "../agent/compress.ts";
import type { Model, ModelRequest } from "../agent/model.ts";
import { withoutQuestions } from "../agent/questions.ts";
import type { Conversations } from "../command/services.ts";

/** The conversations that commands are typed in, which the model of the agent summarizes. */
export function createConversations({ find, summarize }: AgentConversations, model: Model): Conversations {
  return {
    find,
    async compress(taskId, signal) {
      let before = 0;
      const summary = await summarize(taskId, async (task) => {
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
