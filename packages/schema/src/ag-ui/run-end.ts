import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  MessagesSnapshotEventSchema,
  RunErrorEventSchema,
  RunFinishedEventSchema,
  RunOutcomeSchema,
  RunStartedEventSchema,
} from "../gen/devtool/ag_ui/v1alpha/event_pb.ts";
import type { Message as AgUiMessage } from "../gen/devtool/ag_ui/v1alpha/message_pb.ts";
import type { RunAgentInput } from "../gen/devtool/ag_ui/v1alpha/run_pb.ts";
import { TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import { encodeEvent } from "./encode-event.ts";
import { interruptsOf, type ParametersOf } from "./interrupts.ts";
import type { RunEvents } from "./run-events.ts";

/** The version of AG-UI that is spoken. */
export const AG_UI_VERSION = "1.0";

/** Encodes the beginning of a run. */
export function encodeRunStarted({ threadId, runId, parentRunId }: RunAgentInput): JsonObject {
  return encodeEvent(RunStartedEventSchema, { threadId, runId, parentRunId, protocolVersion: AG_UI_VERSION });
}

/** Encodes all messages of a thread. */
export function encodeMessagesSnapshot(messages: readonly AgUiMessage[]): JsonObject {
  return encodeEvent(MessagesSnapshotEventSchema, { messages: [...messages] });
}

/**
 * Encodes the end of a run that was refused, or that cannot go on.
 *
 * `code` is the code of Connect in snake_case.
 */
export function encodeRunError(message: string, code: string): JsonObject {
  return encodeEvent(RunErrorEventSchema, { message, code });
}

/** Encodes the end of a run whose task rests. */
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
      encodeEvent(RunErrorEventSchema, { message: error || stateText || `the task is ${code}`, code, usage }),
    ];
  }
  const interrupts = interruptsOf(task, parametersOf);
  const success = state === TaskState.CANCELED ? "cancelled" : "success";
  const outcome = create(RunOutcomeSchema, { type: interrupts.length > 0 ? "interrupt" : success, interrupts });
  return [...ended, encodeEvent(RunFinishedEventSchema, { threadId, runId, outcome, usage })];
}
