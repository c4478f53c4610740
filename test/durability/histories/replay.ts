import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { create, type JsonValue, toBinary } from "@bufbuild/protobuf";
import type { DevtoolClient } from "@devtool/client";
import {
  ApprovalMode,
  type Message,
  SessionSettingsSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { decodeStreamFrame, encodeStreamFrame } from "@devtool/schema/a2a-v03";
import { SqliteTaskStore } from "@devtool/server/store";
import { type History, plainEvents } from "./history.ts";

/**
 * Puts the log of a history into a data directory that has no tasks, as if a
 * server had written it there.
 */
export async function storeHistory(
  { events }: Pick<History, "events">,
  dataDirectory: string,
): Promise<void> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  await using store = await SqliteTaskStore.open(
    join(dataDirectory, "tasks.db"),
  );
  await store.append({ events });
}

/**
 * Reads as many events of a task from a server as its history has, as plain
 * data.
 */
export async function servedEvents(
  client: DevtoolClient,
  { events }: Pick<History, "events">,
  signal: AbortSignal,
): Promise<JsonValue[]> {
  const served: TaskEvent[] = [];
  const taskId = events[0]?.taskId ?? "";
  for await (const { event } of client.tasks.subscribeTask(
    { taskId },
    { signal },
  )) {
    if (event) served.push(event);
    if (served.length === events.length) break;
  }
  return plainEvents(served);
}

/**
 * The event as a client of A2A 0.3 gets it; one that has no frame only counts.
 */
export function throughA2a(event: TaskEvent): TaskEvent {
  const frame = encodeStreamFrame(event, "extension");
  return frame === undefined
    ? counted(event)
    : decodeStreamFrame(JSON.parse(frame), event.sequence);
}

function counted({ sequence, taskId, contextId }: TaskEvent): TaskEvent {
  return create(TaskEventSchema, {
    sequence,
    taskId,
    contextId,
    state: TaskState.WORKING,
  });
}

/**
 * The event without what A2A 0.3 has no place for: whose task it is, how far it
 * goes without asking, the command it runs, that it is answered with a message alone, the model of its
 * first message, when and by which model something was made, settings that say
 * nothing, that a later message brought MCP servers, and what a user answered
 * (STREAM-2).
 */
export function carriedByA2a(whole: TaskEvent): TaskEvent {
  const event = { ...whole, mcpServersAdded: false };
  const { payload } = event;
  if (encodeStreamFrame(event, "extension") === undefined) {
    return counted(event);
  }
  if (payload.case === "artifact") {
    const { time: _time, ...timeless } = event;
    return { ...timeless, model: "" };
  }
  if (payload.case !== "created") return event;
  const {
    command: _command,
    message,
    sessionSettings,
    ...created
  } = payload.value;
  const saysNothing =
    !sessionSettings ||
    toBinary(SessionSettingsSchema, sessionSettings).length === 0;
  const value = {
    ...created,
    ...(!saysNothing && { sessionSettings }),
    principal: "",
    approvalLimit: ApprovalMode.UNSPECIFIED,
    replyOnly: false,
    ...(message && { message: withoutModel(message) }),
  };
  return { ...event, payload: { ...payload, value } };
}

function withoutModel({
  goal: _goal,
  fork: _fork,
  ...message
}: Message): Message {
  return { ...message, model: "" };
}
