import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import {
  type Artifact,
  isAtRest,
  type Message,
  MessageQueuedSchema,
  quote,
  Role,
  StateChangeSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  WireError,
} from "@devtool/schema";
import {
  decodeOwnFields,
  decodeState,
  decodeStreamFrame,
  decodeTask,
  extensionMetadata,
  taskEventMetadata,
} from "@devtool/schema/a2a-v03";
import type { ContentPayload, TaskContent } from "./task-content.ts";

/**
 * What is known of a stream when its next frame is read: the last event, or
 * what the caller knows before the first one.
 */
export interface StreamPosition {
  readonly sequence: bigint;
  /**
   * Empty if the task is not known yet.
   */
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  /**
   * The message that the stream answers. Undefined after the first event.
   */
  readonly sent?: Message | undefined;
}

/**
 * The events that one frame stands for.
 */
export interface FrameEvents {
  readonly events: readonly TaskEvent[];
  /**
   * Ends the exchange, unless another frame follows.
   */
  readonly end?: TaskEvent | undefined;
  /**
   * Ends the exchange. Only content that comes too late may follow.
   */
  readonly last?: TaskEvent | undefined;
}

/**
 * Reads the answer of `message/send`, `tasks/get` or `tasks/cancel`. An answer
 * that is only a message becomes a completed task. Throws a `WireError` with the
 * path of what cannot be read.
 */
export function taskFromAnswer(json: JsonValue): Task {
  const answer = completeFrame(objectOrEmpty(json));
  if (answer.kind !== "message") return decodeTask(answer);
  const { taskId, contextId } = answer;
  return decodeTask({
    kind: "task",
    id: stringOrEmpty(taskId),
    contextId: stringOrEmpty(contextId),
    status: { state: "completed" },
    history: [answer],
  });
}

/**
 * Reads a frame of an agent that may not have the extension. One frame may be
 * several events.
 *
 * Text in a status that ends the exchange becomes an event before the change of
 * state. A whole task is a snapshot from before or after the exchange, so its
 * state ends the exchange only if no frame follows, and what was shown of it is
 * not repeated.
 */
export function eventsFromFrame(
  frame: JsonObject,
  event: TaskEvent,
  position: StreamPosition,
  content: TaskContent,
): FrameEvents {
  const { payload } = event;
  const place = {
    taskId: event.taskId || position.taskId,
    contextId: event.contextId || position.contextId,
    state: TaskState.WORKING,
  };
  if (payload.case === "created") {
    const created = { ...event, ...place, state: event.state };
    return eventsFromTask(frame, created, position, content);
  }
  if (payload.case === "artifact") {
    return { events: eventsOf(content.ofUpdate(payload.value), place) };
  }
  if (frame.kind === "message" && payload.case === "reply") {
    // An answer that is only a message completes its task.
    const said = eventsOf(content.ofMessage(payload.value), place);
    return { events: said, last: endOf({ ...event, ...place }, event.state) };
  }
  return eventsFromUpdate(
    frame,
    { ...event, ...place, state: event.state },
    content,
  );
}

/**
 * Reads a whole task that starts a stream as the receipt of the message just
 * sent to it: the message, or that it is queued. Returns undefined if the task
 * is something else.
 */
export function receivedMessage(
  event: TaskEvent,
  { taskId, sent }: StreamPosition,
  task: JsonObject,
): TaskEvent | undefined {
  if (event.payload.case !== "created" || event.taskId !== taskId || !sent) {
    return undefined;
  }
  const { queuedMessages } = decodeOwnFields(objectOrEmpty(task.metadata));
  const queued = queuedMessages.find(
    ({ message }) => message?.messageId === sent.messageId,
  );
  if (!queued) return { ...event, payload: { case: "message", value: sent } };
  const value = create(MessageQueuedSchema, {
    message: sent,
    delivery: queued.delivery,
  });
  return { ...event, payload: { case: "messageQueued", value } };
}

function eventsFromTask(
  json: JsonObject,
  created: TaskEvent,
  position: StreamPosition,
  content: TaskContent,
): FrameEvents {
  const isKnown = position.taskId === created.taskId;
  const { state } = created;
  const open = isAtRest(state)
    ? { ...created, state: TaskState.WORKING }
    : created;
  const shown = isKnown
    ? newInKnownTask(json, position, content)
    : content.ofTask(
        messagesOf(json).slice(hasPrompt(json) ? 1 : 0),
        artifactsOf(json),
      );
  const received = receivedMessage(created, position, json);
  const starts = isKnown ? (received ? [received] : []) : [opened(open, json)];
  const events = [...starts, ...eventsOf(shown, open)];
  return isAtRest(state) ? { events, end: endOf(created, state) } : { events };
}

/**
 * Returns what a whole task has that was not shown. If nothing was, because
 * this client has not followed the task, only what the agent has said after the
 * message that was just sent to it is new.
 */
function newInKnownTask(
  json: JsonObject,
  { sent }: StreamPosition,
  content: TaskContent,
): ContentPayload[] {
  const messages = messagesOf(json);
  const prompt = messages.findIndex(
    ({ messageId }) => messageId === sent?.messageId,
  );
  const said = messages.filter(({ role }) => role !== Role.USER);
  if (content.isFollowed) return content.ofTask(said, artifactsOf(json));
  const fresh = prompt < 0 ? [] : messages.slice(prompt + 1);
  content.ofTask(
    said.filter((message) => !fresh.includes(message)),
    prompt < 0 ? artifactsOf(json) : [],
  );
  content.startExchange();
  return prompt < 0
    ? []
    : content.ofTask(
        fresh.filter(({ role }) => role !== Role.USER),
        artifactsOf(json),
      );
}

function hasPrompt(json: JsonObject): boolean {
  return messagesOf(json)[0]?.role === Role.USER;
}

/**
 * Returns the event that starts a task, with the user's first message.
 */
function opened(event: TaskEvent, json: JsonObject): TaskEvent {
  if (event.payload.case !== "created" || hasPrompt(json)) return event;
  const { message: _agents, ...value } = event.payload.value;
  return { ...event, payload: { case: "created", value } };
}

/**
 * Returns the messages of a whole task, that of its status last. Those of the
 * extension are left out, because they are not text.
 */
function messagesOf({ history, status }: JsonObject): Message[] {
  const { message } = objectOrEmpty(status);
  return [...listOrEmpty(history), ...(isObject(message) ? [message] : [])]
    .map(objectOrEmpty)
    .filter(({ metadata }) => !extensionMetadata(objectOrEmpty(metadata)))
    .flatMap((json) => {
      const { payload } = decodeStreamFrame({ ...json, kind: "message" }, 0n);
      return payload.case === "reply" ? [payload.value] : [];
    });
}

function artifactsOf(json: JsonObject): readonly Artifact[] {
  return decodeTask(json).artifacts;
}

/**
 * Reads an update of a task. Devtool's server sends one event per update and
 * marks those that no other agent sends. For other agents, the state alone ends
 * the exchange, whatever the update says beside it.
 */
function eventsFromUpdate(
  json: JsonObject,
  event: TaskEvent,
  content: TaskContent,
): FrameEvents {
  const { payload, state } = event;
  const metadata = objectOrEmpty(json.metadata);
  if (taskEventMetadata(metadata)) return { events: [event] };
  const isEnd = isAtRest(state);
  if (!extensionMetadata(metadata)) {
    const { message } = objectOrEmpty(json.status);
    const [said] = isObject(message) ? messagesOf({ history: [message] }) : [];
    const open = isEnd ? { ...event, state: TaskState.WORKING } : event;
    const events = said ? eventsOf(content.ofMessage(said), open) : [];
    if (isEnd) return { events, last: endOf(event, state) };
    return { events: events.length > 0 ? events : [endOf(event, state)] };
  }
  if (!isEnd) return { events: [event] };
  if (payload.case === "text") {
    const said = { ...event, state: TaskState.WORKING };
    return { events: [said], last: endOf(event, state) };
  }
  // A question may be one of several, so it ends the exchange only if no frame
  // follows.
  if (payload.case === "toolCall" || payload.case === "thought") {
    return { events: [event], end: endOf(event, state) };
  }
  return { events: [], last: event };
}

function eventsOf(
  payloads: readonly ContentPayload[],
  place: Pick<TaskEvent, "taskId" | "contextId" | "state">,
): TaskEvent[] {
  const { taskId, contextId, state } = place;
  return payloads.map((payload) =>
    create(TaskEventSchema, { taskId, contextId, state, payload }),
  );
}

/**
 * Returns the change to the state of an event, with nothing said.
 */
function endOf(event: TaskEvent, state: TaskState): TaskEvent {
  const { taskId, contextId, time } = event;
  const payload = {
    case: "stateChange",
    value: create(StateChangeSchema),
  } as const;
  return create(TaskEventSchema, { taskId, contextId, time, state, payload });
}

/**
 * Returns a frame with what A2A 0.3 requires and other agents leave out or write
 * in their own way: the kinds of the frame and of all parts, and roles that are
 * the user's or the agent's.
 */
export function completeFrame(frame: JsonObject): JsonObject {
  const kind = frame.kind ?? frameKind(frame);
  if (kind === "message") return completeMessage(frame);
  const complete: JsonObject = { ...frame };
  if (kind !== undefined) complete.kind = kind;
  const { status, history, artifact, artifacts } = frame;
  assertKnownState(objectOrEmpty(status).state ?? "");
  if (isObject(status) && isObject(status.message)) {
    const message = completeMessage(status.message);
    complete.status = { ...status, message };
  }
  if (Array.isArray(history)) {
    complete.history = history.map((item) =>
      isObject(item) ? completeMessage(item) : item,
    );
  }
  if (isObject(artifact)) complete.artifact = withPartKinds(artifact);
  if (Array.isArray(artifacts)) {
    complete.artifacts = artifacts.map((item) =>
      isObject(item) ? withPartKinds(item) : item,
    );
  }
  return complete;
}

/** Throws a `WireError` for the name of a state that A2A 0.3 does not have. */
function assertKnownState(state: JsonValue): void {
  const isKnown =
    typeof state !== "string" ||
    ["", "unknown"].includes(state) ||
    decodeState(state) !== TaskState.UNSPECIFIED;
  if (isKnown) return;
  throw new WireError("status.state", quote(state), "is not a state of A2A");
}

/** Returns the kind of a frame by its fields; undefined if they do not say. */
function frameKind(frame: JsonObject): string | undefined {
  const has = (name: string): boolean => (frame[name] ?? null) !== null;
  if (has("artifact")) return "artifact-update";
  if (has("parts")) return "message";
  if (has("history") || has("artifacts")) return "task";
  if (!has("status")) return undefined;
  return has("id") && !has("taskId") ? "task" : "status-update";
}

function completeMessage(message: JsonObject): JsonObject {
  const role = message.role === "user" ? "user" : "agent";
  return withPartKinds({ ...message, kind: "message", role });
}

/** The kinds of parts, which are the names of their fields, too. */
const PART_KINDS = ["text", "file", "data"] as const;

function withPartKinds(holder: JsonObject): JsonObject {
  if (!Array.isArray(holder.parts)) return holder;
  const parts = holder.parts.map((part) => {
    if (!isObject(part) || (part.kind ?? null) !== null) return part;
    const kind = PART_KINDS.find((name) => (part[name] ?? null) !== null);
    return kind === undefined ? part : { ...part, kind };
  });
  return { ...holder, parts };
}
