import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import {
  CustomEventSchema,
  MessagesSnapshotEventSchema,
  RunErrorEventSchema,
  RunFinishedEventSchema,
  RunOutcomeSchema,
  RunStartedEventSchema,
} from "../gen/devtool/ag_ui/v1alpha/event_pb.ts";
import {
  type Message as AgUiMessage,
  MessageSchema as AgUiMessageSchema,
} from "../gen/devtool/ag_ui/v1alpha/message_pb.ts";
import type { RunAgentInput } from "../gen/devtool/ag_ui/v1alpha/run_pb.ts";
import { TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import { jsonValue } from "../rfc-json.ts";
import { encodeEvent } from "./encode-event.ts";
import { interruptsOf, type ParametersOf } from "./interrupts.ts";
import type { RunEvents } from "./run-events.ts";

/** Version of AG-UI that this package implements. */
export const AG_UI_VERSION = "1.0";

/** Encodes the beginning of a run. */
export function encodeRunStarted({
  threadId,
  runId,
  parentRunId,
}: RunAgentInput): JsonObject {
  return encodeEvent(RunStartedEventSchema, {
    threadId,
    runId,
    parentRunId,
    protocolVersion: AG_UI_VERSION,
  });
}

/**
 * Maximum size of a snapshot in characters of JSON. Clients stop at an event of
 * 10 MiB.
 */
const MAX_SNAPSHOT = 8 * 1024 * 1024;

/**
 * Encodes the messages of a thread as one event. If they have more than 8 MiB
 * of JSON, the event has the newest, and another one is a notice that says so.
 */
export function encodeMessagesSnapshot(
  messages: readonly AgUiMessage[],
): JsonObject[] {
  let size = 0;
  const tooOld = messages.findLastIndex((message) => {
    size += JSON.stringify(toJson(AgUiMessageSchema, message)).length + 1;
    return size > MAX_SNAPSHOT;
  });
  const snapshot = encodeEvent(MessagesSnapshotEventSchema, {
    messages: messages.slice(tooOld + 1),
  });
  if (tooOld < 0) return [snapshot];
  const text = `The thread is too long to be shown whole: its first ${tooOld + 1} messages are left out.`;
  return [
    snapshot,
    encodeEvent(CustomEventSchema, {
      name: "devtool.notice",
      value: jsonValue({ text }),
    }),
  ];
}

/**
 * Encodes the end of a run that was refused, or that cannot go on.
 *
 * `code` is the code of Connect in snake_case.
 */
export function encodeRunError(message: string, code: string): JsonObject {
  return encodeEvent(RunErrorEventSchema, { message, code });
}

/** Encodes the end of a run whose task has ended or waits for the user. */
export function encodeRunEnd(
  { threadId, runId }: Pick<RunAgentInput, "threadId" | "runId">,
  events: RunEvents,
  parametersOf: ParametersOf,
): JsonObject[] {
  const { task, usage } = events;
  const { state, error, stateText } = task;
  const ended = events.endText();
  if (state === TaskState.FAILED || state === TaskState.REJECTED) {
    const code = TaskState[state].toLowerCase();
    return [
      ...ended,
      encodeEvent(RunErrorEventSchema, {
        message: error || stateText || `the task is ${code}`,
        code,
        usage,
      }),
    ];
  }
  const interrupts = interruptsOf(task, parametersOf);
  const success = state === TaskState.CANCELED ? "cancelled" : "success";
  const outcome = create(RunOutcomeSchema, {
    type: interrupts.length > 0 ? "interrupt" : success,
    interrupts,
  });
  return [
    ...ended,
    encodeEvent(RunFinishedEventSchema, { threadId, runId, outcome, usage }),
  ];
}
