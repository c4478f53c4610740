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
  session: OpenTask,
): readonly (() => Promise<unknown>)[] {
  const message = said("x".repeat(100));
  return [
    () => session.accept({ message, activateExtension: false }),
    () => session.withdraw(message.messageId),
  ];
}

/** Begins a task whose agent is at work. */
export async function beginSession(store: TaskStore): Promise<OpenTask> {
  const task = { ...emptyTask(), id: crypto.randomUUID(), contextId: "c" };
  const log = new EventLog({
    store,
    task,
    conversation: new Conversation(),
    now: () => new Date(),
  });
  const session = new OpenTask({
    log,
    executor: BUSY,
    earlier: async () => [],
  });
  await session.create(
    create(TaskCreatedSchema, { principal: "local", message: said("begin") }),
  );
  return session;
}

function said(text: string) {
  const parts = [
    create(PartSchema, { content: { case: "text", value: text } }),
  ];
  return create(MessageSchema, { messageId: crypto.randomUUID(), parts });
}
