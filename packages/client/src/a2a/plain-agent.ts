import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  isInterrupted,
  isTerminal,
  StateChangeSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  TextContentSchema,
} from "@devtool/schema";
import { decodeStreamFrame, decodeTask } from "@devtool/schema/a2a-v03";
import { isObject, listOf, objectOf, textOf } from "./json.ts";

/** Where a stream stands: the last event, as far as the next one needs it. */
export interface StreamPosition {
  readonly sequence: bigint;
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
}

/**
 * Reads the answer of `message/send`, `tasks/get` and `tasks/cancel`. What the task made as artifacts is told as messages of
 * the agent behind its history; an agent that answers with a message alone has a task that is completed.
 */
export function taskFromAnswer(json: JsonValue): Task {
  const answer = objectOf(json);
  if (answer.kind !== "message") return decodeTask(withArtifacts(answer));
  return decodeTask({ ...placeOf(answer), kind: "task", status: { state: "completed" }, history: [answer] });
}

/**
 * Reads a frame of an agent that numbers nothing, so one that may not know our extension: a frame may be several events.
 * Text in a state that ends the exchange is told before the change of state; artifacts are text; a task that is shown
 * again, as `tasks/resubscribe` begins, only says its state.
 */
export function eventsFromFrame(frame: JsonValue, position: StreamPosition): TaskEvent[] {
  const json = objectOf(frame);
  switch (json.kind) {
    case "task":
      return position.sequence === 0n ? openingEvents(json) : [stateChange(json, decodeTask(json).state)];
    case "artifact-update":
      return textEvents(partsText(objectOf(json.artifact)), { ...position, ...idsOf(json) });
    case "message":
      return repliedEvents(json, position);
    default:
      return updateEvents(decodeStreamFrame(frame, 0n));
  }
}

/** A task that comes whole: how it began, what the agent has said and made, and how it stands. */
function openingEvents(json: JsonObject): TaskEvent[] {
  const created = decodeStreamFrame(json, 0n);
  const said = listOf(withArtifacts(json).history).filter((message) => objectOf(message).role === "agent");
  const status = objectOf(objectOf(json.status).message);
  const texts = [...said.map((message) => partsText(objectOf(message))), ends(created.state) ? "" : partsText(status)];
  const events = [created, ...texts.flatMap((text) => textEvents(text, created))];
  return ends(created.state) ? [...events, stateChange(json, created.state)] : events;
}

function repliedEvents(json: JsonObject, position: StreamPosition): TaskEvent[] {
  const place = { ...position, ...idsOf(json) };
  const end = create(TaskEventSchema, {
    ...idsOf(place),
    state: TaskState.COMPLETED,
    payload: { case: "stateChange", value: create(StateChangeSchema) },
  });
  return [...textEvents(partsText(json), place), end];
}

function updateEvents(event: TaskEvent): TaskEvent[] {
  if (event.payload.case !== "text" || !ends(event.state)) return [event];
  const { text } = event.payload.value;
  const end = { ...event, payload: { case: "stateChange" as const, value: create(StateChangeSchema) } };
  return [...textEvents(text, { ...event, state: TaskState.WORKING }), end];
}

function stateChange(json: JsonObject, state: TaskState): TaskEvent {
  const text = partsText(objectOf(objectOf(json.status).message));
  return create(TaskEventSchema, {
    ...idsOf({ taskId: json.id ?? "", contextId: json.contextId ?? "" }),
    state,
    payload: { case: "stateChange", value: create(StateChangeSchema, { text }) },
  });
}

function textEvents(text: string, { taskId, contextId, state }: Omit<StreamPosition, "sequence">): TaskEvent[] {
  if (text === "") return [];
  const payload = { case: "text", value: create(TextContentSchema, { text }) } as const;
  return [create(TaskEventSchema, { taskId, contextId, state, payload })];
}

function ends(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}

function withArtifacts(task: JsonObject): JsonObject {
  const made = listOf(task.artifacts).map((artifact): JsonObject => {
    const { artifactId, parts } = objectOf(artifact);
    return { kind: "message", messageId: textOf(artifactId), role: "agent", parts: listOf(parts) };
  });
  return { ...task, history: [...listOf(task.history), ...made] };
}

function placeOf({ taskId, contextId }: JsonObject): JsonObject {
  return { id: textOf(taskId), contextId: textOf(contextId) };
}

function idsOf({ taskId, contextId }: { readonly taskId?: unknown; readonly contextId?: unknown }): {
  readonly taskId: string;
  readonly contextId: string;
} {
  return { taskId: textOf(taskId), contextId: textOf(contextId) };
}

/** What the parts of a message or an artifact say in words; data is shown as the JSON that it is. */
function partsText({ parts }: JsonObject): string {
  return listOf(parts)
    .map((part) => {
      const { kind, text, data } = objectOf(part);
      if (kind === "text") return textOf(text);
      return kind === "data" && isObject(data) ? JSON.stringify(data) : "";
    })
    .join("");
}
