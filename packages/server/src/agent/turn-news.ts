import { confirmationsOf, findToolCall, type Message, Role, type Task, ToolCallStatus } from "@devtool/schema";
import type { TurnNews } from "./agent-executor.ts";

/** What is new at the start of a turn, read off the task as it is then. */
export function turnNews(task: Task, restarted: boolean): TurnNews {
  const last = task.history.findLastIndex(({ role }) => role === Role.AGENT);
  const fresh = task.history.slice(last + 1);
  const answers = fresh.flatMap(confirmationsOf).filter(({ toolCallId }) => isUnused(task, toolCallId));
  return { message: fresh.findLast(isPrompt), answers, restarted };
}

/** The message that an agent works on: the latest of the user's that answers no question. */
export function promptOf({ history }: Pick<Task, "history">): Message | undefined {
  return history.findLast(isPrompt);
}

/** Whether a message is the user's and answers no question; what stands beside an answer belongs to it. */
export function isPrompt(message: Message): boolean {
  return message.role === Role.USER && confirmationsOf(message).length === 0;
}

/** Whether nothing was done yet with the answer to a call: it has not begun, or was declined. */
function isUnused(task: Task, toolCallId: string): boolean {
  const status = findToolCall(task, toolCallId)?.status;
  return status === ToolCallStatus.PENDING || status === ToolCallStatus.CANCELLED;
}
