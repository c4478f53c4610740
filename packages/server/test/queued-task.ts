import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  emptyTask,
  type Message,
  MessageDelivery,
  MessageSchema,
  Role,
  reduceTask,
  TaskCreatedSchema,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { expect } from "vitest";
import type { AgentExecutor } from "../src/agent/agent-executor.ts";
import { MemoryTaskStore } from "../src/store/memory-task-store.ts";
import { Conversation } from "../src/task/conversation.ts";
import { EventLog } from "../src/task/event-log.ts";
import { OpenTask } from "../src/task/open-task.ts";
import { readTask } from "../src/task/read-task.ts";
import type { Incoming } from "../src/task/task-handle.ts";

/** Returns the ids of the queued messages. */
export function waiting({ task }: OpenTask): string[] {
  return task.queuedMessages.map(({ message }) => message?.messageId ?? "");
}

/** Creates a message of the user whose id is its text. */
export function text(value: string): Message {
  return create(MessageSchema, {
    messageId: value,
    role: Role.USER,
    parts: [{ content: { case: "text", value } }],
  });
}

/** Creates an incoming message. */
export function sent(
  message: Message,
  delivery: MessageDelivery = MessageDelivery.QUEUE,
): Incoming {
  return { message, delivery, activateExtension: false };
}

/** Creates the message that approves a call. */
export function answer(toolCallId: string): Message {
  const value = { toolCallId, selectedOptionId: "proceed_once" };
  return create(MessageSchema, {
    messageId: "answer",
    role: Role.USER,
    parts: [{ content: { case: "confirmation", value } }],
  });
}

/** Creates a task that starts with the message `first`. */
export async function begin(
  executor: AgentExecutor,
  store = new MemoryTaskStore(),
  created: MessageInitShape<typeof TaskCreatedSchema> = {},
): Promise<OpenTask> {
  const task = { ...emptyTask(), id: "t1", contextId: "c1" };
  const log = new EventLog({
    store,
    task,
    now: () => new Date(0),
    conversation: new Conversation(),
  });
  const openTask = new OpenTask({
    log,
    executor,
    earlier: async () => ({ before: [], missing: [] }),
  });
  await openTask.create(
    create(TaskCreatedSchema, { message: text("first"), ...created }),
  );
  return openTask;
}

/** Opens a task as a restarted server does. */
export async function reopen(
  executor: AgentExecutor,
  store: MemoryTaskStore,
): Promise<OpenTask> {
  const task =
    (await readTask(store, "t1")) ?? expect.fail("the store has the task");
  const log = new EventLog({
    store,
    task,
    now: () => new Date(0),
    conversation: new Conversation(),
  });
  const openTask = new OpenTask({
    log,
    executor,
    earlier: async () => ({ before: [], missing: [] }),
  });
  await openTask.recover();
  return openTask;
}

/** Reads all events of the task. */
export function eventsOf(store: MemoryTaskStore): Promise<TaskEvent[]> {
  return Array.fromAsync(store.readEvents("t1", 0n));
}

/**
 * Waits for a new event that matches, and checks that the log folds to the
 * task.
 */
export async function until(
  openTask: OpenTask,
  isIt: (event: TaskEvent) => boolean,
): Promise<TaskEvent> {
  let task = emptyTask();
  for await (const event of readAll(openTask)) {
    task = reduceTask(task, event);
    if (!isIt(event)) continue;
    expect(task.queuedMessages).toEqual(openTask.task.queuedMessages);
    return event;
  }
  throw new Error("a log has no end");
}

/** Reads the events of a task until it has completed, each with its state. */
export async function loggedUntilEnd(openTask: OpenTask): Promise<string[]> {
  const logged: string[] = [];
  for await (const { payload, state } of readAll(openTask)) {
    logged.push(`${payload.case} ${TaskState[state]}`);
    if (state === TaskState.COMPLETED) break;
  }
  return logged;
}

async function* readAll({ log }: OpenTask): AsyncIterable<TaskEvent> {
  for await (const events of log.read(0n, AbortSignal.timeout(50_000))) {
    yield* events;
  }
}
