import { create } from "@bufbuild/protobuf";
import type { ToolCall } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import type { TaskCreated, TaskEvent } from "./gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type Task,
  TaskSchema,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { answeredToolCall, confirmationsOf, hasToolCall, isEnded, toolCallsOf } from "./tool-call.ts";

/** The task before its first event. */
export function emptyTask(): Task {
  return create(TaskSchema);
}

/**
 * Folds one event into a task and gives the new task; the old one is not changed. Folding all events of a log in order
 * from `emptyTask()` gives the task as it is. An event at or below the task's sequence changes nothing.
 */
export function reduceTask(task: Task, event: TaskEvent): Task {
  if (event.sequence <= task.sequence) return task;
  return { ...reducePayload({ ...task, stateText: "", error: "" }, event), ...stamp(task, event) };
}

function stamp(task: Task, event: TaskEvent): Partial<Task> {
  const createTime = task.createTime ?? event.time;
  return {
    id: event.taskId,
    contextId: event.contextId,
    state: event.state,
    sequence: event.sequence,
    model: event.model === "" ? task.model : event.model,
    ...(createTime && { createTime }),
    ...(event.time && { updateTime: event.time }),
  };
}

function reducePayload(task: Task, { payload, sequence }: TaskEvent): Task {
  switch (payload.case) {
    case "created":
      return reduceCreated(task, payload.value);
    case "message":
      return withMessage(task, payload.value);
    case "stateChange":
      return { ...task, stateText: payload.value.text, error: payload.value.error };
    case "text":
      return withText(task, payload.value.text, sequence);
    case "thought":
      return withAgentPart(task, { case: "thought", value: payload.value }, sequence);
    case "toolCall":
      return withToolCall(task, payload.value, sequence);
    case undefined:
      return task;
    default:
      return payload satisfies never;
  }
}

function reduceCreated(task: Task, { message, settings, sessionSettings, command, principal }: TaskCreated): Task {
  return {
    ...task,
    principal,
    history: message ? [message] : [],
    ...(settings && { settings }),
    ...(sessionSettings && { sessionSettings }),
    ...(command && { command }),
  };
}

function withMessage(task: Task, message: Message): Task {
  const answered = confirmationsOf(message).reduce(
    (history, answer) => withCall(history, answer.toolCallId, (call) => answeredToolCall(call, answer)),
    task.history,
  );
  return { ...task, history: [...answered, message] };
}

/** The history with one call changed; the same when it has no such call. */
function withCall(history: Message[], toolCallId: string, change: (call: ToolCall) => ToolCall): Message[] {
  const index = history.findLastIndex((message) => hasToolCall(message, toolCallId));
  const step = history[index];
  if (!step) return history;
  const parts = step.parts.map((part) =>
    part.content.case === "toolCall" && part.content.value.toolCallId === toolCallId
      ? partOf({ case: "toolCall", value: change(part.content.value) })
      : part,
  );
  return history.with(index, { ...step, parts });
}

function withText(task: Task, text: string, sequence: bigint): Task {
  const last = openStep(task)?.parts.at(-1)?.content;
  if (last?.case !== "text") return withAgentPart(task, { case: "text", value: text }, sequence);
  return withLastMessage(task, (parts) => [...parts.slice(0, -1), partOf({ case: "text", value: last.value + text })]);
}

function withToolCall(task: Task, call: ToolCall, sequence: bigint): Task {
  const history = withCall(task.history, call.toolCallId, () => call);
  return history === task.history
    ? withAgentPart(task, { case: "toolCall", value: call }, sequence)
    : { ...task, history };
}

/** Adds a part to the agent's step; begins a new step after a client's message and after calls that have ended. */
function withAgentPart(task: Task, content: Part["content"], sequence: bigint): Task {
  if (openStep(task)) return withLastMessage(task, (parts) => [...parts, partOf(content)]);
  const step = create(MessageSchema, {
    messageId: `${task.id}:${sequence}`,
    role: Role.AGENT,
    parts: [{ content }],
  });
  return { ...task, history: [...task.history, step] };
}

function openStep(task: Task): Message | undefined {
  const last = task.history.at(-1);
  if (last?.role !== Role.AGENT) return undefined;
  const calls = toolCallsOf(last);
  return calls.length > 0 && calls.every(isEnded) ? undefined : last;
}

function withLastMessage(task: Task, change: (parts: readonly Part[]) => Part[]): Task {
  const last = task.history.at(-1);
  if (!last) return task;
  return { ...task, history: [...task.history.slice(0, -1), { ...last, parts: change(last.parts) }] };
}

function partOf(content: Part["content"]): Part {
  return create(PartSchema, { content });
}
