import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { defined } from "@devtool/internal/json";
import { encodeArtifactUpdate } from "../a2a-v03/artifact.ts";
import { citationText } from "../a2a-v03/part.ts";
import { plainText } from "../a2a-v03/plain-text.ts";
import {
  type ToolCall,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { UpdateMetadataSchema } from "../gen/devtool/coder_agent/v1alpha/stream_pb.ts";
import type { TaskEvent } from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Part,
  PartSchema,
  type ToolCallDetail,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { encodeRfcJson } from "../rfc-json.ts";
import { endsExchange } from "../task-state.ts";
import { isAwaitingApproval } from "../tool-call.ts";
import { encodeGeminiCliPart } from "./part.ts";
import { encodeGeminiCliCreated, encodeGeminiCliState } from "./task.ts";

/**
 * Encodes an event as the JSON text of a stream frame's `result`. Undefined if
 * the dialect does not show the event.
 *
 * A successful turn ends as `input-required`: clients take that for the user's
 * turn, and a completed task for one that accepts no more messages.
 */
export function encodeGeminiCliFrame(event: TaskEvent): string | undefined {
  const frame = encodeFrame(event);
  return frame && JSON.stringify(frame);
}

function encodeFrame(event: TaskEvent): JsonObject | undefined {
  const { payload } = event;
  const update = (
    kind: string,
    content: Part["content"],
    error?: string,
  ): JsonObject => statusUpdate(event, kind, content, error);
  switch (payload.case) {
    case "created":
      return encodeGeminiCliCreated(event, payload.value);
    case "text":
      return update("text-content", textContent(payload.value.text));
    case "thought":
      return update("thought", payload);
    case "citation":
      return update("citation", textContent(citationText(payload.value)));
    case "toolCall":
      return callFrame(event, payload.value, event.toolCallDetail);
    case "stateChange":
      return update(
        "state-change",
        textOrNothing(payload.value.error || payload.value.text),
        payload.value.error,
      );
    case "notice":
      return update("state-change", textOrNothing(payload.value.text));
    case "message":
    case "messageQueued":
      return update("state-change", NOTHING);
    case "artifact":
      return encodeArtifactUpdate(event, payload.value);
    case "reply":
      return update("text-content", textOrNothing(plainText(event) ?? ""));
    case "usage":
    case "summary":
    case "messageTaken":
    case "messageWithdrawn":
    case "renamed":
    case "sessionTools":
    case "goalProgress":
    case "workflowRun":
    case "ideContext":
    case undefined:
      return undefined;
    default:
      return payload satisfies never;
  }
}

const NOTHING: Part["content"] = { case: undefined };

function textContent(value: string): Part["content"] {
  return { case: "text", value };
}

function textOrNothing(text: string): Part["content"] {
  return text === "" ? NOTHING : textContent(text);
}

/**
 * Encodes an update of a call. Growing output is sent as an artifact, each time
 * the whole of it; the dialect has no form for progress and process ids.
 */
function callFrame(
  event: TaskEvent,
  call: ToolCall,
  detail: ToolCallDetail | undefined,
): JsonObject | undefined {
  const { taskId, contextId } = event;
  const running = call.status === ToolCallStatus.EXECUTING;
  if (running && call.liveContent !== undefined) {
    const parts = [{ kind: "text", text: call.liveContent }];
    const artifact = { artifactId: `tool-${call.toolCallId}-output`, parts };
    // `append` is set as in the original, but means nothing.
    return {
      kind: "artifact-update",
      taskId,
      contextId,
      artifact,
      append: true,
      lastChunk: false,
    };
  }
  if (running && (detail?.pid || detail?.progress)) return undefined;
  const kind = isAwaitingApproval(call)
    ? "tool-call-confirmation"
    : "tool-call-update";
  return statusUpdate(event, kind, { case: "toolCall", value: call });
}

function statusUpdate(
  event: TaskEvent,
  kind: string,
  content: Part["content"],
  error = "",
): JsonObject {
  const metadata = create(UpdateMetadataSchema, {
    coderAgent: { kind },
    model: event.model,
    userTier: event.userTier,
    error,
  });
  const { toolCallDetail, taskId, contextId, sequence } = event;
  const place = { taskId, contextId };
  const part = encodeGeminiCliPart(
    create(PartSchema, { content, toolCallDetail }),
  );
  return {
    kind: "status-update",
    ...place,
    status: defined({
      state: encodeGeminiCliState(event.state),
      message: part && {
        kind: "message",
        messageId: `${taskId}:${sequence}`,
        role: "agent",
        parts: [part],
        ...place,
      },
      timestamp: event.time && timestampDate(event.time).toISOString(),
    }),
    final: endsExchange(event),
    metadata: encodeRfcJson(UpdateMetadataSchema, metadata),
  };
}
