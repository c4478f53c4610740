import { create } from "@bufbuild/protobuf";
import { artifactEnvelope } from "../a2a-v03/artifact.ts";
import { encodePart } from "../a2a-v03/part.ts";
import { plainText } from "../a2a-v03/plain-text.ts";
import { updateMetadata } from "../a2a-v03/stream-frame.ts";
import { createdEnvelope } from "../a2a-v03/task.ts";
import type { StreamView } from "../a2a-v03/view.ts";
import type { ArtifactUpdate, TaskEvent } from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Part as ContentPart,
  ArtifactSchema as OwnArtifactSchema,
  type Message as OwnMessage,
} from "../gen/devtool/v1alpha/task_pb.ts";
import {
  type Message,
  MessageSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  TaskArtifactUpdateEventSchema,
  TaskStatusUpdateEventSchema,
} from "../gen/lf/a2a/v1/a2a_pb.ts";
import { artifactFromV03 } from "./artifact.ts";
import { partFromV03 } from "./part.ts";
import { stateToA2a } from "./state.ts";
import { taskFromV03 } from "./task.ts";

/**
 * Writes an event as an element of a stream of A2A 1.0: the task for `created`, an update of an artifact, otherwise an
 * update of its status. Undefined when the view shows nothing of it.
 */
export function streamResponseOf(event: TaskEvent, view: StreamView): StreamResponse | undefined {
  const { payload } = event;
  if (payload.case === "created") {
    const value = taskFromV03(createdEnvelope(event, payload.value, view));
    return create(StreamResponseSchema, { payload: { case: "task", value } });
  }
  if (payload.case === "artifact") return artifactUpdate(event, payload.value);
  return view === "extension" ? extensionUpdate(event) : plainUpdate(event);
}

/** Writes an answer that is a message alone: it names its conversation and no task, since its client is shown none. */
export function replyToA2a(reply: OwnMessage, contextId: string): Message {
  const { messageId } = reply;
  const parts = reply.parts.flatMap(({ content }) => partsOf(content));
  return create(MessageSchema, { messageId, contextId, role: Role.AGENT, parts });
}

function artifactUpdate({ taskId, contextId }: TaskEvent, update: ArtifactUpdate): StreamResponse {
  const { artifact = create(OwnArtifactSchema), append, lastChunk } = update;
  const value = create(TaskArtifactUpdateEventSchema, {
    taskId,
    contextId,
    artifact: artifactFromV03(artifactEnvelope(artifact)),
    append,
    lastChunk,
  });
  return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
}

function extensionUpdate(event: TaskEvent): StreamResponse {
  return updateOf(event, messageOf(event), updateMetadata(event));
}

function plainUpdate(event: TaskEvent): StreamResponse | undefined {
  const text = plainText(event);
  if (text === undefined) return undefined;
  return updateOf(event, text === "" ? undefined : agentMessage(event, [{ case: "text", value: text }]), undefined);
}

function updateOf(
  event: TaskEvent,
  message: Message | undefined,
  metadata: ReturnType<typeof updateMetadata> | undefined,
): StreamResponse {
  const { taskId, contextId, state, time } = event;
  const status = { state: stateToA2a(state), ...(message && { message }), ...(time && { timestamp: time }) };
  const value = create(TaskStatusUpdateEventSchema, { taskId, contextId, status, ...(metadata && { metadata }) });
  return create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
}

function messageOf(event: TaskEvent): Message | undefined {
  const { payload } = event;
  switch (payload.case) {
    case "text":
      return agentMessage(event, [{ case: "text", value: payload.value.text }]);
    case "stateChange":
    case "notice":
      return payload.value.text === "" ? undefined : agentMessage(event, [{ case: "text", value: payload.value.text }]);
    case "citation":
    case "thought":
    case "toolCall":
      return agentMessage(event, [payload]);
    case "reply":
      return agentMessage(
        event,
        payload.value.parts.map(({ content }) => content),
      );
    case "message":
      return userMessage(event, payload.value);
    default:
      return undefined;
  }
}

function agentMessage(
  { taskId, contextId, sequence }: TaskEvent,
  contents: readonly ContentPart["content"][],
): Message {
  const place = { taskId, contextId, messageId: `${taskId}:${sequence}` };
  return create(MessageSchema, { ...place, role: Role.AGENT, parts: contents.flatMap(partsOf) });
}

function userMessage(
  { taskId, contextId }: TaskEvent,
  said: { readonly messageId: string; readonly parts: readonly ContentPart[]; readonly referenceTaskIds: string[] },
): Message {
  const parts = said.parts.flatMap(({ content }) => partsOf(content));
  const { messageId, referenceTaskIds } = said;
  return create(MessageSchema, { taskId, contextId, messageId, role: Role.USER, parts, referenceTaskIds });
}

function partsOf(content: ContentPart["content"]): Message["parts"] {
  const part = encodePart({ $typeName: "devtool.v1alpha.Part", content });
  return part ? [partFromV03(part)] : [];
}
