import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  type TaskView,
  textMessage,
} from "@devtool/client";
import {
  type Message,
  Role,
  type Task,
  type TaskEvent,
  type ToolCallDetail,
} from "@devtool/schema";

/** A signal that ends what hangs, before the test does. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(120_000);
}

/** Returns what a view shows of a call beside its call. */
export function detailOf(
  view: TaskView,
  toolCallId: string,
): ToolCallDetail | undefined {
  for (const { part } of view.snapshot().items) {
    if (
      part.content.case === "toolCall" &&
      part.content.value.toolCallId === toolCallId
    ) {
      return part.toolCallDetail;
    }
  }
  return undefined;
}

/** Begins a task with a message, and returns its id once it rests. */
export async function beginTask(
  client: DevtoolClient,
  text: string,
): Promise<string> {
  const { task } = await client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), text),
  });
  return task?.id ?? "";
}

/** Returns a task as it is now. */
export async function taskOf(
  client: DevtoolClient,
  taskId: string,
): Promise<Task> {
  const { task } = await client.tasks.getTask({ taskId });
  if (!task) throw new Error("there is no task");
  return task;
}

/** Lets all calls run that wait for their user, and returns the task then. */
export async function approve(
  client: DevtoolClient,
  task: Task,
): Promise<Task> {
  const parts = pendingToolCalls(task).map((call) =>
    confirmationPart(call, "proceed_once"),
  );
  const message = { messageId: crypto.randomUUID(), parts };
  await client.tasks.sendMessage({ message, taskId: task.id });
  return taskOf(client, task.id);
}

/** Returns the text of a message's first part. */
export function firstText(message: Message | undefined): string {
  const content = message?.parts[0]?.content;
  return content?.case === "text" ? content.value : "";
}

/** Returns what agents said in a task. */
export function agentText({ history }: Task): string {
  const parts = history
    .filter(({ role }) => role === Role.AGENT)
    .flatMap((message) => message.parts);
  return parts
    .flatMap(({ content }) => (content.case === "text" ? [content.value] : []))
    .join("");
}

/** Returns the text that events stream. */
export function streamedText(events: readonly TaskEvent[]): string {
  return events
    .map(({ payload }) => (payload.case === "text" ? payload.value.text : ""))
    .join("");
}

/** Returns the texts of the notices among events. */
export function noticesIn(events: readonly TaskEvent[]): string[] {
  return events.flatMap(({ payload }) =>
    payload.case === "notice" ? [payload.value.text] : [],
  );
}
