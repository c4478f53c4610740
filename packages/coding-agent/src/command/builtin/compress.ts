import type { Conversations } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { noConversation, saying } from "../steps.ts";

/** `/compress`: puts a summary in place of the older part of the conversation. */
export function compressCommand(conversations: Conversations): SlashCommand {
  return {
    path: ["compress"],
    description: "Replaces the older part of this conversation by a summary, so that the model has room",
    arguments: [],
    play: (_args, context) =>
      saying(async (_request, signal) => {
        const task = await conversations.find(context);
        if (!task) return noConversation(context);
        const count = await conversations.compress(task.id, signal);
        return count === 0
          ? "There is nothing to gain: the conversation is short."
          : `A summary stands for ${count} ${count === 1 ? "message" : "messages"} now; the log keeps them.`;
      }),
  };
}
