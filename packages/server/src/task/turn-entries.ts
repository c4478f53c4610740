import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  MessageSchema,
  Role,
  StateChangeSchema,
  type Task,
  TaskState,
} from "@devtool/schema";
import type { AgentEvent } from "../agent/agent-executor.ts";
import { Code, DevtoolError } from "../errors.ts";
import type { LogEntry } from "./event-log.ts";

/**
 * The reason of the signal that aborts an agent when a client cancels its task.
 */
export const CANCELED: DevtoolError = new DevtoolError(
  "the task was canceled",
  Code.Canceled,
);

/** Creates the error of requests that a server refuses because it closes. */
export function stopping(): DevtoolError {
  return new DevtoolError("the server stops", Code.Unavailable, {
    remedy: "try again when it runs",
  });
}

/**
 * The reason of the signal that aborts an agent when the server closes. The
 * task is left as a crash would leave it.
 */
export const STOPPING: DevtoolError = stopping();

/** An event with which an agent ends its turn. */
export type Ending = Extract<AgentEvent, { case: "end" | "reply" }>;

/**
 * Creates the entry for the end of a turn that the agent declared. The text of
 * a failure is recorded as an error.
 */
export function endEntry(ending: Ending, { id, sequence }: Task): LogEntry {
  if (ending.case === "reply") {
    const parts = [...ending.value];
    const value = create(MessageSchema, {
      messageId: `${id}:${sequence + 1n}`,
      role: Role.AGENT,
      parts,
    });
    return { state: TaskState.COMPLETED, payload: { case: "reply", value } };
  }
  const { state, text } = ending.value;
  return stateEntry(
    state,
    state === TaskState.FAILED ? { error: text } : { text },
  );
}

/** Creates the entry of a change to another state. */
export function stateEntry(
  state: TaskState,
  change: MessageInitShape<typeof StateChangeSchema> = {},
): LogEntry {
  return {
    state,
    payload: { case: "stateChange", value: create(StateChangeSchema, change) },
  };
}
