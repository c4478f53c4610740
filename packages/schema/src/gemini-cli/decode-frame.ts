import {
  create,
  type JsonValue,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { decodePart } from "../a2a-v03/part.ts";
import { decodeState } from "../a2a-v03/state.ts";
import { decodeTime } from "../a2a-v03/task.ts";
import {
  type Message as A2aMessage,
  type TaskArtifactUpdateEvent,
  TaskArtifactUpdateEventSchema,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  AgentThoughtSchema,
  DevelopmentToolEvent_DevelopmentToolEventKind as Kind,
} from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  ToolCallSchema,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { UpdateMetadataSchema } from "../gen/devtool/coder_agent/v1alpha/stream_pb.ts";
import {
  type TaskEvent,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import { type Task, TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson } from "../rfc-json.ts";
import {
  findToolCall,
  isAwaitingApproval,
  openToolCalls,
} from "../tool-call.ts";
import { missing, quote, WireError } from "../wire-error.ts";
import { decodeGeminiCliCreated } from "./task.ts";
import { decodeGeminiCliCall } from "./tool-call.ts";

/**
 * Decodes the `result` of a stream frame as the events that follow a task.
 *
 * The frames have no sequence numbers, so the events are numbered from the task
 * on. The task is the fold of earlier frames, or an empty one. Throws a
 * `WireError`.
 */
export function decodeGeminiCliFrame(
  result: JsonValue,
  task: Task,
): TaskEvent[] {
  if (!isObject(result)) {
    throw new WireError("result", quote(result), "must be a JSON object");
  }
  switch (result.kind) {
    case "task":
      // Some responses repeat a known task; it is created only once.
      return task.sequence > 0n ? [] : [decodeGeminiCliCreated(result, 1n)];
    case "status-update":
      return updateEvents(
        decodeRfcJson(TaskStatusUpdateEventSchema, result),
        task,
      );
    case "artifact-update":
      return outputEvents(
        decodeRfcJson(TaskArtifactUpdateEventSchema, result),
        task,
      );
    default:
      throw new WireError(
        "result.kind",
        quote(result.kind),
        "is not a frame of a task",
      );
  }
}

type Payload = Pick<
  MessageInitShape<typeof TaskEventSchema>,
  "payload" | "toolCallDetail"
>;

function updateEvents(update: TaskStatusUpdateEvent, task: Task): TaskEvent[] {
  const { status, taskId, contextId, metadata, final = false } = update;
  if (!status) throw missing("result.status");
  const about = decodeRfcJson(UpdateMetadataSchema, metadata ?? {});
  const state = stateAfter(update, task);
  const payloads = decodePayloads(
    about.coderAgent?.kind ?? "",
    status.message,
    about.error,
  );
  if (final && state === TaskState.CANCELED) {
    // The peer does not report that the open calls of a canceled task ended.
    const ended = openToolCalls(task).map(
      ({
        confirmationRequest: _asked,
        liveContent: _shown,
        ...call
      }): Payload => {
        return {
          payload: {
            case: "toolCall",
            value: { ...call, status: ToolCallStatus.CANCELLED },
          },
        };
      },
    );
    payloads.unshift(...ended);
  }
  // A change of state ends an exchange.
  if (final && payloads.at(-1)?.payload?.case !== "stateChange") {
    payloads.push({ payload: { case: "stateChange", value: {} } });
  }
  return payloads.map((payload, index) =>
    create(TaskEventSchema, {
      sequence: task.sequence + 1n + BigInt(index),
      taskId,
      contextId,
      state,
      model: about.model,
      userTier: about.userTier,
      time: decodeTime(status.timestamp),
      ...payload,
    }),
  );
}

/**
 * Returns the state of the task after an update.
 *
 * During a turn, the peer may still send the state of its last question. At the
 * end of a turn, `input-required` without a question or a text means that the
 * work is done.
 */
function stateAfter(
  { status, final = false }: TaskStatusUpdateEvent,
  task: Task,
): TaskState {
  const state = decodeState(status?.state ?? "");
  if (state !== TaskState.INPUT_REQUIRED) return state;
  if (!final) return TaskState.WORKING;
  const isAsked =
    status?.message !== undefined ||
    openToolCalls(task).some(isAwaitingApproval);
  return isAsked ? state : TaskState.COMPLETED;
}

function decodePayloads(
  kind: string,
  message: A2aMessage | undefined,
  error: string,
): Payload[] {
  const texts = (message?.parts ?? []).flatMap(({ kind, text = "" }) =>
    kind === "text" ? [text] : [],
  );
  const data = (message?.parts ?? []).flatMap((part) =>
    part.data ? [part.data] : [],
  );
  const text = texts.join("");
  switch (kind) {
    case "text-content":
      return [{ payload: { case: "text", value: { text } } }];
    case "thought":
      return data.map((each) => ({
        payload: {
          case: "thought",
          value: decodeRfcJson(AgentThoughtSchema, each),
        },
      }));
    case "citation": {
      // The source is the first URL, or else the whole text.
      const [uri] = /https?:\/\/[^\s<>)]+/.exec(text) ?? [];
      return [
        {
          payload: {
            case: "citation",
            value: uri === undefined ? { title: text.trim() } : { uri },
          },
        },
      ];
    }
    case "tool-call-update":
    case "tool-call-confirmation":
      return [
        ...data.map((each): Payload => {
          const { call, detail } = decodeGeminiCliCall(each);
          return {
            payload: { case: "toolCall", value: call },
            toolCallDetail: detail,
          };
        }),
        ...(text === ""
          ? []
          : [{ payload: { case: "notice", value: { text } } } as const]),
      ];
    default:
      return [
        {
          payload: {
            case: "stateChange",
            value: error === "" ? { text } : { text, error },
          },
        },
      ];
  }
}

/**
 * Decodes the output of a running call, which is repeated as a whole. Other
 * artifacts do not occur in this dialect.
 */
function outputEvents(
  { artifact, taskId, contextId }: TaskArtifactUpdateEvent,
  task: Task,
): TaskEvent[] {
  const [, callId] =
    /^tool-(.+)-output$/s.exec(artifact?.artifactId ?? "") ?? [];
  if (callId === undefined || !artifact) return [];
  const known =
    findToolCall(task, callId) ??
    create(ToolCallSchema, { toolCallId: callId });
  const pieces = artifact.parts.map(
    (part) => decodePart(part, Kind.TEXT_CONTENT, "artifact.parts").content,
  );
  const text = pieces
    .map((piece) => (piece.case === "text" ? piece.value : ""))
    .join("");
  // The text is a terminal screen: spaces at the end of lines and empty lines
  // at the end are padding.
  const liveContent = text.replace(/ +$/gm, "").replace(/\n{2,}$/, "\n");
  const { confirmationRequest: _answered, ...rest } = known;
  const call = { ...rest, status: ToolCallStatus.EXECUTING, liveContent };
  return [
    create(TaskEventSchema, {
      sequence: task.sequence + 1n,
      taskId,
      contextId,
      state: TaskState.WORKING,
      model: task.model,
      payload: { case: "toolCall", value: call },
    }),
  ];
}
