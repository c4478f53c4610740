import { create } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import {
  emptyTask,
  MessageSchema,
  PartSchema,
  TaskCreatedSchema,
} from "@devtool/schema";
import type { AgentExecutor } from "@devtool/server";
import {
  Conversation,
  EventLog,
  OpenTask,
  type TaskStore,
} from "@devtool/server/testing";

/** An agent that is at work until it is stopped. */
const BUSY: AgentExecutor = {
  modelFor: () => "none",
  async *execute(_turn, signal) {
    await abortable(new Promise<never>(() => undefined), signal);
  },
  [Symbol.asyncDispose]: async () => undefined,
};

/**
 * Two durable appends: a message to a task at work, and its withdrawal, which
 * comes after it.
 */
export function appendsOf(
  openTask: OpenTask,
): readonly (() => Promise<unknown>)[] {
  const message = said("x".repeat(100));
  return [
    () => openTask.accept({ message, activateExtension: false }),
    () => openTask.withdraw(message.messageId),
  ];
}

/** Begins a task whose agent is at work. */
export async function beginTask(store: TaskStore): Promise<OpenTask> {
  const task = { ...emptyTask(), id: crypto.randomUUID(), contextId: "c" };
  const log = new EventLog({
    store,
    task,
    conversation: new Conversation(),
    now: () => new Date(),
  });
  const openTask = new OpenTask({
    log,
    executor: BUSY,
    earlier: async () => ({ before: [], missing: [] }),
  });
  await openTask.create(
    create(TaskCreatedSchema, { principal: "local", message: said("begin") }),
  );
  return openTask;
}

function said(text: string) {
  const parts = [
    create(PartSchema, { content: { case: "text", value: text } }),
  ];
  return create(MessageSchema, { messageId: crypto.randomUUID(), parts });
}
