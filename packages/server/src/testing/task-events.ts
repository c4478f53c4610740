import { create, type UnknownField } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  TaskCreatedSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskRenamedSchema,
  TaskState,
} from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";

/** A field that no release has yet. */
export const UNKNOWN: UnknownField[] = [
  { no: 9999, wireType: WireType.Varint, data: new Uint8Array([42]) },
];

/**
 * Creates the first event of a task of the principal `me` in the conversation
 * `c`, with the message `m`.
 */
export function created(
  taskId: string,
  second = 1,
  principal = "me",
): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: "c",
    sequence: 1n,
    time: timestampFromMs(second * 1000),
    state: TaskState.SUBMITTED,
    payload: {
      case: "created",
      value: { principal, message: { messageId: "m" } },
    },
  });
}

/** Creates the first event of a task with a title, a workspace and an agent. */
export function labeled(
  taskId: string,
  title: string,
  workspacePath: string,
  agent: string,
  second = 1,
): TaskEvent {
  const message = {
    messageId: `m-${taskId}`,
    parts: [{ content: { case: "text" as const, value: title } }],
  };
  const fields = {
    principal: "me",
    message,
    settings: { workspacePath },
    sessionSettings: { agent },
  };
  const value = create(TaskCreatedSchema, fields);
  return create(TaskEventSchema, {
    ...created(taskId, second),
    payload: { case: "created", value },
  });
}

/** Creates an event that gives a task another title. */
export function renamed(
  taskId: string,
  sequence: bigint,
  title: string,
): TaskEvent {
  return create(TaskEventSchema, {
    ...text(taskId, sequence),
    payload: { case: "renamed", value: create(TaskRenamedSchema, { title }) },
  });
}

/** Creates an event that adds text to a task. */
export function text(taskId: string, sequence: bigint, value = "x"): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: "c",
    sequence,
    time: timestampFromMs(2000),
    state: TaskState.WORKING,
    payload: { case: "text", value: { text: value } },
  });
}

/** Creates an event that adds a message to a task. */
export function message(
  taskId: string,
  sequence: bigint,
  messageId: string,
): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: "c",
    sequence,
    time: timestampFromMs(2000),
    state: TaskState.WORKING,
    payload: { case: "message", value: { messageId } },
  });
}

/** Reads all events of a task after a sequence. */
export async function eventsOf(
  store: TaskStore,
  taskId: string,
  after = 0n,
): Promise<TaskEvent[]> {
  const all: TaskEvent[] = [];
  for await (const event of store.readEvents(taskId, after)) all.push(event);
  return all;
}

/** Reads the sequences of all events of a task after a sequence. */
export async function sequences(
  store: TaskStore,
  taskId: string,
  after: bigint,
): Promise<bigint[]> {
  return (await eventsOf(store, taskId, after)).map(({ sequence }) => sequence);
}
