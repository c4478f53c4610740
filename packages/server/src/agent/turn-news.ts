import {
  confirmationsOf,
  findToolCall,
  type Message,
  Role,
  type Task,
  ToolCallStatus,
} from "@devtool/schema";
import type { TurnNews } from "./agent-executor.ts";

/**
 * Returns what is new in a task at the start of a turn: everything after the
 * agent's last message.
 */
export function turnNews(task: Task): Omit<TurnNews, "restarted"> {
  const last = task.history.findLastIndex(({ role }) => role === Role.AGENT);
  const fresh = task.history.slice(last + 1);
  const answers = fresh.flatMap(confirmationsOf).filter(({ toolCallId }) => {
    // Once a call runs, the agent has used the answer. A declined call is
    // cancelled by `OpenTask`.
    const status = findToolCall(task, toolCallId)?.status;
    return (
      status === ToolCallStatus.PENDING || status === ToolCallStatus.CANCELLED
    );
  });
  return { message: fresh.findLast(isPrompt), answers };
}

/**
 * Whether a message is a prompt: sent by the user, and without an answer to a
 * tool call. Other parts of a message that answers a call belong to the answer.
 */
export function isPrompt(message: Message): boolean {
  return message.role === Role.USER && confirmationsOf(message).length === 0;
}
