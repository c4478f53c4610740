import type { Message, Task, TaskEvent } from "@devtool/schema";
import { encodeGeminiCliFrame } from "@devtool/schema/gemini-cli";
import type { Frame } from "../http/answer.ts";

/** The frame of an event, told of the task under the id that its client knows; undefined when the dialect shows nothing of it. */
export function eventFrame(event: TaskEvent, taskId: string): Frame | undefined {
  const result = encodeGeminiCliFrame({ ...event, taskId });
  return result === undefined ? undefined : { result, id: event.sequence };
}

/** A task under the id that its client knows. The ids of what the agent said begin with that of the task. */
export function taskUnder(task: Task, id: string): Task {
  if (id === task.id) return task;
  const own = `${task.id}:`;
  const renamed = (message: Message): Message =>
    message.messageId.startsWith(own)
      ? { ...message, messageId: `${id}:${message.messageId.slice(own.length)}` }
      : message;
  return { ...task, id, history: task.history.map(renamed) };
}
