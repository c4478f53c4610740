import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  awaitedToolCalls,
  MessageSchema,
  Role,
  StateChangeSchema,
  type Task,
  TaskState,
  TextContentSchema,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import type { AgentEvent } from "../agent/agent-executor.ts";
import { Code, DevtoolError } from "../errors.ts";
import type { LogEntry } from "./event-log.ts";

/** The reason with which a session aborts its agent when a client cancels the task. */
export const CANCELED: DevtoolError = new DevtoolError("the task was canceled", Code.Canceled);

/** The event with which an agent ends its turn. */
export type Ending = Extract<AgentEvent, { case: "end" | "reply" }>;

/** The end that an agent came to. A failure is an error, whoever says so. */
export function endEntry(ending: Ending, { id, sequence }: Task): LogEntry {
  if (ending.case === "reply") {
    const parts = [...ending.value];
    const value = create(MessageSchema, { messageId: `${id}:${sequence + 1n}`, role: Role.AGENT, parts });
    return { state: TaskState.COMPLETED, payload: { case: "reply", value } };
  }
  const { state, text } = ending.value;
  return stateEntry(state, state === TaskState.FAILED ? { error: text } : { text });
}

/** What an agent said with the end of its turn, as text of a task that goes on. */
export function saidAtEnd({ payload }: LogEntry): LogEntry[] {
  if (payload.case !== "stateChange" || payload.value.text === "") return [];
  return [{ payload: { case: "text", value: create(TextContentSchema, { text: payload.value.text }) } }];
}

/** The end of a run that was cut short: by a client, or by what failed. */
export function cutEntry(reason: unknown): LogEntry {
  if (reason === CANCELED) return stateEntry(TaskState.CANCELED);
  return stateEntry(TaskState.FAILED, { error: DevtoolError.from(reason).message });
}

/** A change to another state, with what explains it. */
export function stateEntry(state: TaskState, change: MessageInitShape<typeof StateChangeSchema> = {}): LogEntry {
  return { state, payload: { case: "stateChange", value: create(StateChangeSchema, change) } };
}

/** The state that the open calls of a task put it in; while it waits for the user, with the calls that ask (TOOL-2). */
export function derivedEntry(state: TaskState, task: Task): LogEntry {
  return stateEntry(state, state === TaskState.INPUT_REQUIRED ? { openCalls: awaitedToolCalls(task) } : {});
}

/** What an agent did within its turn, as its log records it. */
export function payloadOf(event: Exclude<AgentEvent, Ending | { case: "toolCalls" }>): LogEntry["payload"] {
  return event.case === "text" ? { case: "text", value: create(TextContentSchema, { text: event.value }) } : event;
}

/** A call that its turn leaves open at its end. */
export function cancelledCall({ confirmationRequest: _closed, ...call }: ToolCall): ToolCall {
  return { ...call, status: ToolCallStatus.CANCELLED };
}
