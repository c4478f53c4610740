import type { AgentConversations } from "@devtool/server/agent";
import { compress } from "../agent/compress.ts";
import type { Model } from "../agent/model.ts";
import { withoutQuestions } from "../agent/questions.ts";
import type { Conversations } from "../command/services.ts";

/**
 * Gives commands access to the conversations of a server. The agent's model
 * writes the summaries.
 */
export function createConversations(
  { find, summarize }: AgentConversations,
  model: Model,
): Conversations {
  return {
    find,
    async compress(taskId, signal) {
      let messageCount = 0;
      const summary = await summarize(taskId, async ({ history, settings }) => {
        messageCount = history.length;
        const request = {
          history: withoutQuestions(history),
          tools: [],
          workspacePath: settings?.workspacePath ?? "",
          instructions: async () => "",
          model: "",
        };
        return compress(model, request, signal);
      });
      return summary ? messageCount - summary.keptMessages : 0;
    },
  };
}
