import { create, type JsonObject } from "@bufbuild/protobuf";
import { artifactEnvelope } from "../a2a-v03/artifact.ts";
import { agentMessageOf, isFramed } from "../a2a-v03/event-content.ts";
import { encodeMessage } from "../a2a-v03/message.ts";
import { plainText } from "../a2a-v03/plain-text.ts";
import { updateMetadata } from "../a2a-v03/stream-frame.ts";
import { createdEnvelope } from "../a2a-v03/task.ts";
import type { StreamView } from "../extension.ts";
import { fieldsOf } from "../fields-of.ts";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import type { TaskEvent } from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  ArtifactSchema as OwnArtifactSchema,
  type Message as OwnMessage,
  Role as OwnRole,
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
import { messageFromV03 } from "./message.ts";
import { stateToA2a } from "./state.ts";
import { taskFromV03 } from "./task.ts";

/**
 * Converts an event to an element of a stream of A2A 1.0.
 *
 * The element is the task for `created`, an artifact update for `artifact`, and
 * a status update for the rest. Undefined if the view does not show the event.
 */
export function streamResponseOf(
  event: TaskEvent,
  view: StreamView,
): StreamResponse | undefined {
  const { payload } = event;
  if (payload.case === "created") {
    const value = taskFromV03(createdEnvelope(event, payload.value, view));
    return create(StreamResponseSchema, { payload: { case: "task", value } });
  }
  const { taskId, contextId, sequence } = event;
  if (payload.case === "artifact") {
    const { artifact = create(OwnArtifactSchema) } = payload.value;
    const value = create(TaskArtifactUpdateEventSchema, {
      ...fieldsOf(payload.value),
      ...{ taskId, contextId },
      artifact: artifactFromV03(artifactEnvelope(artifact)),
    });
    return create(StreamResponseSchema, {
      payload: { case: "artifactUpdate", value },
    });
  }
  if (view === "plain") {
    const text = plainText(event);
    if (text === undefined) return undefined;
    if (text === "") return statusUpdate(event, undefined, undefined);
    const message = create(MessageSchema, {
      ...{ taskId, contextId },
      messageId: `${taskId}:${sequence}`,
      role: Role.AGENT,
      parts: [{ content: { case: "text", value: text } }],
    });
    return statusUpdate(event, message, undefined);
  }
  if (!isFramed(event)) return undefined;
  const message = agentMessageOf(event);
  const written =
    message &&
    messageFromV03(encodeMessage(message, NO_KIND, { taskId, contextId }));
  return statusUpdate(event, written, updateMetadata(event));
}

/**
 * Converts a reply that is the whole response. It names its conversation but no
 * task, because clients see no task.
 */
export function replyToA2a(reply: OwnMessage, contextId: string): Message {
  return messageFromV03(
    encodeMessage({ ...reply, role: OwnRole.AGENT }, NO_KIND, {
      taskId: "",
      contextId,
    }),
  );
}

function statusUpdate(
  event: TaskEvent,
  message: Message | undefined,
  metadata: JsonObject | undefined,
): StreamResponse {
  const { taskId, contextId, state, time } = event;
  const status = { state: stateToA2a(state), message, timestamp: time };
  const value = create(TaskStatusUpdateEventSchema, {
    taskId,
    contextId,
    status,
    metadata,
  });
  return create(StreamResponseSchema, {
    payload: { case: "statusUpdate", value },
  });
}

/** For messages whose metadata does not concern the extension. */
const NO_KIND = Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
