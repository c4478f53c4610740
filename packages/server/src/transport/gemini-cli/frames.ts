import type { Message, Task, TaskEvent } from "@devtool/schema";
import { encodeGeminiCliFrame } from "@devtool/schema/gemini-cli";
import type { Frame } from "../http/answer.ts";

/**
 * Returns the frame of an event; undefined for an event that the dialect does
 * not show.
 *
 * @param taskId - The id by which the client knows the task.
 */
export function eventFrame(
  event: TaskEvent,
  taskId: string,
): Frame | undefined {
  const result = encodeGeminiCliFrame({ ...event, taskId });
  return result === undefined ? undefined : { result, id: event.sequence };
}

/**
 * Returns a task with the id by which its client knows it, which the ids of the
 * agent's messages begin with as well.
 */
export function withClientId(task: Task, id: string): Task {
  if (id === task.id) return task;
  const prefix = `${task.id}:`;
  const history = task.history.map((message): Message => {
    const { messageId } = message;
    return messageId.startsWith(prefix)
      ? { ...message, messageId: `${id}:${messageId.slice(prefix.length)}` }
      : message;
  });
  return { ...task, id, history };
}
