import { create } from "@bufbuild/protobuf";
import type { ToolCall } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import type {
  ArtifactUpdate,
  MessageQueued,
  StateChange,
  TaskCreated,
  TaskEvent,
} from "./gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  QueuedMessageSchema,
  Role,
  type Task,
  TaskSchema,
  type ToolCallDetail,
  type Usage,
  UsageSchema,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { mayHoldCall, noteCalls } from "./known-calls.ts";
import { isInterrupted, isTerminal } from "./task-state.ts";
import {
  answeredToolCall,
  confirmationsOf,
  hasToolCall,
  isAwaitingApproval,
  isEnded,
  openToolCalls,
  toolCallsOf,
} from "./tool-call.ts";

/** Returns the task before its first event. */
export function emptyTask(): Task {
  return create(TaskSchema);
}

/**
 * Folds one event into a task and returns the new task. The given task is not changed.
 *
 * Folding all events of a log in order, starting with `emptyTask()`, gives the current task. An event whose sequence is
 * not above the task's changes nothing. An event that creates another task returns that task, because a conversation
 * continues in a new task in A2A 1.0 (STREAM-5).
 */
export function reduceTask(task: Task, event: TaskEvent): Task {
  if (event.payload.case === "created" && task.id !== "" && event.taskId !== task.id) {
    return reduceTask(emptyTask(), event);
  }
  if (event.sequence <= task.sequence) return task;
  // The text of a resting state is kept until an event wakes the task.
  const isResting = isTerminal(event.state) || isInterrupted(event.state);
  const before = isResting && event.state === task.state ? task : { ...task, stateText: "", error: "" };
  const next = { ...reducePayload(before, event), ...commonFields(task, event) };
  noteCalls(task.history, next.history, callIdsIn(event));
  return next;
}

function callIdsIn({ payload }: TaskEvent): string[] {
  switch (payload.case) {
    case "toolCall":
      return [payload.value.toolCallId];
    case "stateChange":
      return payload.value.openCalls.map(({ toolCallId }) => toolCallId);
    case "message":
    case "reply":
      return toolCallsOf(payload.value).map(({ toolCallId }) => toolCallId);
    case "created":
    case "messageQueued": {
      const { message } = payload.value;
      return message ? toolCallsOf(message).map(({ toolCallId }) => toolCallId) : [];
    }
    default:
      return [];
  }
}

function commonFields(task: Task, event: TaskEvent): Partial<Task> {
  return {
    id: event.taskId,
    contextId: event.contextId,
    state: event.state,
    sequence: event.sequence,
    model: event.model === "" ? task.model : event.model,
    extensionActive: task.extensionActive || event.extensionActive,
    createTime: task.createTime ?? event.time,
    updateTime: event.time ?? task.updateTime,
  };
}

function reducePayload(task: Task, { payload, sequence, state, toolCallDetail }: TaskEvent): Task {
  switch (payload.case) {
    case "created":
      return reduceCreated(task, payload.value);
    case "message":
      return withMessage(task, payload.value);
    case "stateChange":
      return reduceStateChange(task, payload.value, { state, sequence });
    case "text":
      return withText(task, payload.value.text, sequence);
    case "thought":
      return withAgentPart(task, createPart({ case: "thought", value: payload.value }), sequence);
    case "toolCall":
      return withToolCall(task, { call: payload.value, detail: toolCallDetail }, sequence);
    case "citation":
      return withAgentPart(task, createPart({ case: "citation", value: payload.value }), sequence);
    case "summary":
      return withNewStep(task, createPart({ case: "summary", value: payload.value }), sequence);
    case "artifact":
      return withArtifact(task, payload.value);
    case "reply":
      return { ...task, history: [...task.history, payload.value] };
    case "messageQueued":
      return withQueued(task, payload.value);
    case "messageTaken":
      return withTaken(task, payload.value.messageId);
    case "messageWithdrawn":
      return withoutQueued(task, payload.value.messageId);
    case "usage":
      return { ...task, usage: addUsage(task.usage, payload.value) };
    case "notice":
    case undefined:
      return task;
    default:
      return payload satisfies never;
  }
}

function reduceCreated(task: Task, created: TaskCreated): Task {
  const { message, settings, sessionSettings, command, principal, replyOnly } = created;
  return {
    ...task,
    principal,
    replyOnly,
    history: message ? [message] : [],
    settings,
    sessionSettings,
    command,
  };
}

/** A task that has ended takes no more messages: the event names those that were still queued. */
function reduceStateChange(
  task: Task,
  { text, error, openCalls }: StateChange,
  { state, sequence }: Pick<TaskEvent, "state" | "sequence">,
): Task {
  const queuedMessages = isTerminal(state) ? [] : task.queuedMessages;
  return withOpenCalls({ ...task, stateText: text, error, queuedMessages }, openCalls, sequence);
}

/**
 * Applies the list of calls that a task waits for.
 *
 * The list is complete. Unknown calls are added; known calls that are not in it no longer ask: they were answered in a
 * message that this client may not have received.
 */
function withOpenCalls(task: Task, openCalls: readonly ToolCall[], sequence: bigint): Task {
  if (openCalls.length === 0) return task;
  const open = new Set(openCalls.map(({ toolCallId }) => toolCallId));
  const answered = openToolCalls(task).filter((call) => isAwaitingApproval(call) && !open.has(call.toolCallId));
  const closed = answered.map(({ confirmationRequest: _answered, ...call }) => call);
  return [...closed, ...openCalls].reduce(
    (folded, call) => withToolCall(folded, { call, detail: undefined }, sequence),
    task,
  );
}

function withQueued(task: Task, { message, delivery }: MessageQueued): Task {
  if (!message) return task;
  return { ...task, queuedMessages: [...task.queuedMessages, create(QueuedMessageSchema, { message, delivery })] };
}

/** Moves a queued message to the end of the conversation. */
function withTaken(task: Task, messageId: string): Task {
  const taken = task.queuedMessages.find(({ message }) => message?.messageId === messageId)?.message;
  const rest = withoutQueued(task, messageId);
  return taken ? { ...rest, history: [...rest.history, taken] } : rest;
}

/** Removes the first queued message with an id. Clients may use an id twice (STREAM-7). */
function withoutQueued(task: Task, messageId: string): Task {
  const index = task.queuedMessages.findIndex(({ message }) => message?.messageId === messageId);
  return index < 0 ? task : { ...task, queuedMessages: task.queuedMessages.toSpliced(index, 1) };
}

/** Adds an artifact, replaces it, or extends the one with the same id. */
function withArtifact(task: Task, { artifact, append }: ArtifactUpdate): Task {
  if (!artifact) return task;
  const index = task.artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const earlier = task.artifacts[index];
  if (!earlier) return { ...task, artifacts: [...task.artifacts, artifact] };
  const next = append ? { ...earlier, parts: [...earlier.parts, ...artifact.parts] } : artifact;
  return { ...task, artifacts: task.artifacts.with(index, next) };
}

function withMessage(task: Task, message: Message): Task {
  const answered = confirmationsOf(message).reduce(
    (history, answer) =>
      withCall(history, answer.toolCallId, ({ call, detail }) => ({ call: answeredToolCall(call, answer), detail })),
    task.history,
  );
  return { ...task, history: [...answered, message] };
}

/** A call with its detail. */
interface DetailedCall {
  readonly call: ToolCall;
  readonly detail: ToolCallDetail | undefined;
}

/** Changes one call in the history. Returns the same history if it does not have the call. */
function withCall(history: Message[], toolCallId: string, change: (call: DetailedCall) => DetailedCall): Message[] {
  if (!mayHoldCall(history, toolCallId)) return history;
  const index = history.findLastIndex((message) => hasToolCall(message, toolCallId));
  const step = history[index];
  if (!step) return history;
  const parts = step.parts.map((part) =>
    part.content.case === "toolCall" && part.content.value.toolCallId === toolCallId
      ? callPart(change({ call: part.content.value, detail: part.toolCallDetail }))
      : part,
  );
  return history.with(index, { ...step, parts });
}

function withText(task: Task, text: string, sequence: bigint): Task {
  const last = openStep(task)?.parts.at(-1)?.content;
  if (last?.case !== "text") return withAgentPart(task, createPart({ case: "text", value: text }), sequence);
  return withLastMessage(task, (parts) => [
    ...parts.slice(0, -1),
    createPart({ case: "text", value: last.value + text }),
  ]);
}

function withToolCall(task: Task, { call, detail }: DetailedCall, sequence: bigint): Task {
  const history = withCall(task.history, call.toolCallId, (earlier) => ({ call, detail: detail ?? earlier.detail }));
  return history === task.history ? withAgentPart(task, callPart({ call, detail }), sequence) : { ...task, history };
}

/** Adds a part to the agent's step. A new step starts after a client's message, and after calls that have ended. */
function withAgentPart(task: Task, part: Part, sequence: bigint): Task {
  return openStep(task) ? withLastMessage(task, (parts) => [...parts, part]) : withNewStep(task, part, sequence);
}

function withNewStep(task: Task, part: Part, sequence: bigint): Task {
  const step = create(MessageSchema, { messageId: `${task.id}:${sequence}`, role: Role.AGENT, parts: [part] });
  return { ...task, history: [...task.history, step] };
}

function openStep(task: Task): Message | undefined {
  const last = task.history.at(-1);
  if (last?.role !== Role.AGENT) return undefined;
  if (last.parts.at(-1)?.content.case === "summary") return undefined;
  const calls = toolCallsOf(last);
  return calls.length > 0 && calls.every(isEnded) ? undefined : last;
}

function withLastMessage(task: Task, change: (parts: readonly Part[]) => Part[]): Task {
  const last = task.history.at(-1);
  if (!last) return task;
  return { ...task, history: [...task.history.slice(0, -1), { ...last, parts: change(last.parts) }] };
}

function callPart({ call, detail }: DetailedCall): Part {
  return create(PartSchema, {
    content: { case: "toolCall", value: call },
    toolCallDetail: detail,
  });
}

function createPart(content: Part["content"]): Part {
  return create(PartSchema, { content });
}

function addUsage(before: Usage | undefined, used: Usage): Usage {
  return create(UsageSchema, {
    inputTokens: (before?.inputTokens ?? 0n) + used.inputTokens,
    cachedTokens: (before?.cachedTokens ?? 0n) + used.cachedTokens,
    outputTokens: (before?.outputTokens ?? 0n) + used.outputTokens,
    thoughtTokens: (before?.thoughtTokens ?? 0n) + used.thoughtTokens,
  });
}
