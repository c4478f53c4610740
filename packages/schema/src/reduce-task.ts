import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  ApprovalMode,
  SessionSettingsSchema,
} from "./gen/devtool/v1alpha/session_settings_pb.ts";
import type {
  ArtifactUpdate,
  MessageQueued,
  StateChange,
  TaskCreated,
  TaskEvent,
} from "./gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Message,
  QueuedMessageSchema,
  type Task,
  TaskSchema,
  type TaskState,
  type Usage,
  UsageSchema,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { withGoal } from "./goal.ts";
import { withIdeContext } from "./ide-context.ts";
import { noteCalls } from "./known-calls.ts";
import {
  withAgentPart,
  withMessage,
  withSummary,
  withText,
  withToolCall,
} from "./task-history.ts";
import { isAtRest, isTerminal } from "./task-state.ts";
import { initialTitle } from "./task-title.ts";
import {
  confirmationsOf,
  isAwaitingApproval,
  openToolCalls,
  toolCallsOf,
} from "./tool-call.ts";

/** Returns the task before its first event. */
export function emptyTask(): Task {
  return create(TaskSchema);
}

/**
 * Folds one event into a task and returns the new task. The given task is not
 * changed.
 *
 * Folding all events of a log in order, starting with `emptyTask()`, gives the
 * current task. An event whose sequence is not above the task's changes
 * nothing. An event that creates another task returns that task, because a
 * conversation continues in a new task in A2A 1.0 (STREAM-5).
 */
export function reduceTask(task: Task, event: TaskEvent): Task {
  if (
    event.payload.case === "created" &&
    task.id !== "" &&
    event.taskId !== task.id
  ) {
    return reduceTask(emptyTask(), event);
  }
  if (event.sequence <= task.sequence) return task;
  // The text of a resting state is kept until an event wakes the task.
  const before =
    isAtRest(event.state) && event.state === task.state
      ? task
      : { ...task, stateText: "", error: "" };
  const folded = reducePayload(before, event);
  const next: Task = {
    ...folded,
    id: event.taskId,
    contextId: event.contextId,
    state: event.state,
    sequence: event.sequence,
    model: event.model === "" ? task.model : event.model,
    extensionActive: task.extensionActive || event.extensionActive,
    agentSessionId: event.agentSessionId || task.agentSessionId,
    createTime: task.createTime ?? event.time,
    updateTime: event.time ?? task.updateTime,
  };
  // Events of earlier versions have no approval mode, and leave that of the
  // session.
  const { approvalMode } = event;
  const { UNSPECIFIED } = ApprovalMode;
  const current = next.sessionSettings?.approvalMode ?? UNSPECIFIED;
  if (approvalMode !== UNSPECIFIED && approvalMode !== current) {
    const settings = next.sessionSettings ?? create(SessionSettingsSchema);
    next.sessionSettings = { ...settings, approvalMode };
  }
  noteCalls(task.history, next.history, callIdsIn(event));
  return next;
}

/**
 * Returns the ids of the calls that an event has, which may be new to the task.
 */
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
      return message
        ? toolCallsOf(message).map(({ toolCallId }) => toolCallId)
        : [];
    }
    default:
      return [];
  }
}

/**
 * Folds what is particular to the kind of an event. The fields that all events
 * have are not changed.
 */
function reducePayload(
  task: Task,
  { payload, sequence, state, toolCallDetail }: TaskEvent,
): Task {
  switch (payload.case) {
    case "created":
      return reduceCreated(task, payload.value);
    case "message":
      return withPrompt(withMessage(task, payload.value), payload.value);
    case "stateChange":
      return reduceStateChange(task, payload.value, state, sequence);
    case "text":
      return withText(task, payload.value.text, sequence);
    case "thought":
    case "citation":
      return withAgentPart(task, payload, sequence);
    case "toolCall":
      return withToolCall(task, payload.value, toolCallDetail, sequence);
    case "summary":
      return withSummary(task, payload.value, sequence);
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
    case "renamed":
      return { ...task, title: payload.value.title };
    case "sessionTools":
      return { ...task, sessionTools: payload.value };
    case "goalProgress":
      return { ...task, goalProgress: payload.value };
    case "workflowRun":
      return { ...task, workflowRun: payload.value };
    case "ideContext":
      return withIdeContext(task, payload.value);
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
  const { message, settings, sessionSettings, command, principal } = created;
  const { approvalLimit, replyOnly } = created;
  const begun: Task = {
    ...task,
    principal,
    title: initialTitle(created),
    replyOnly,
    history: message ? [message] : [],
    settings,
    sessionSettings,
    approvalLimit,
    command,
    ...defined({
      sender: message?.sender ?? created.sender,
      traceContext: created.traceContext,
    }),
  };
  return message ? withGoal(begun, message) : begun;
}

/** Sets what follows from a message that is in the history. */
function withPrompt(task: Task, message: Message): Task {
  return withServers(withGoal(withSender(task, message), message), message);
}

/**
 * Adds the MCP servers that a message brings to those of the session. Of two
 * with one name, which no server records, the first counts.
 */
function withServers(task: Task, { mcpServers: brought }: Message): Task {
  if (brought.length === 0) return task;
  const settings = task.sessionSettings ?? create(SessionSettingsSchema);
  const known = new Set(settings.mcpServers.map(({ name }) => name));
  const added = brought.filter(({ name }) => !known.has(name));
  const mcpServers = [...settings.mcpServers, ...added];
  return { ...task, sessionSettings: { ...settings, mcpServers } };
}

/**
 * Sets who sent the message that the agent works on from now on. An answer to a
 * tool call does not change whose work it is.
 */
function withSender(task: Task, message: Message): Task {
  const { sender } = message;
  if (sender === task.sender || confirmationsOf(message).length > 0) {
    return task;
  }
  return { ...task, sender };
}

/**
 * Applies a change of state, with the list of the calls that the task waits
 * for.
 *
 * The list is complete, unless it is empty. Unknown calls are added; known
 * calls that are not in it no longer ask: they were answered in a message that
 * this client may not have received. A task that has ended takes no more
 * messages: the event names those that were still queued.
 */
function reduceStateChange(
  task: Task,
  change: StateChange,
  state: TaskState,
  sequence: bigint,
): Task {
  const { text, error, openCalls } = change;
  const queuedMessages = isTerminal(state) ? [] : task.queuedMessages;
  const changed: Task = { ...task, stateText: text, error, queuedMessages };
  if (openCalls.length === 0) return changed;
  const open = new Set(openCalls.map(({ toolCallId }) => toolCallId));
  const answered = openToolCalls(changed).filter(
    (call) => isAwaitingApproval(call) && !open.has(call.toolCallId),
  );
  const closed = answered.map(
    ({ confirmationRequest: _answered, ...call }) => call,
  );
  return [...closed, ...openCalls].reduce(
    (folded, call) => withToolCall(folded, call, undefined, sequence),
    changed,
  );
}

function withQueued(
  task: Task,
  { message, delivery, approvalMode }: MessageQueued,
): Task {
  if (!message) return task;
  const queued = create(QueuedMessageSchema, {
    message,
    delivery,
    approvalMode,
  });
  return { ...task, queuedMessages: [...task.queuedMessages, queued] };
}

/** Moves the first queued message with an id to the history. */
function withTaken(task: Task, messageId: string): Task {
  const taken = task.queuedMessages.find(
    ({ message }) => message?.messageId === messageId,
  )?.message;
  const rest = withoutQueued(task, messageId);
  if (!taken) return rest;
  return withPrompt({ ...rest, history: [...rest.history, taken] }, taken);
}

/**
 * Removes the first queued message with an id. Clients may use an id twice
 * (STREAM-7).
 */
function withoutQueued(task: Task, messageId: string): Task {
  const index = task.queuedMessages.findIndex(
    ({ message }) => message?.messageId === messageId,
  );
  return index < 0
    ? task
    : { ...task, queuedMessages: task.queuedMessages.toSpliced(index, 1) };
}

/** Adds an artifact, replaces it, or extends the one with the same id. */
function withArtifact(task: Task, { artifact, append }: ArtifactUpdate): Task {
  if (!artifact) return task;
  const index = task.artifacts.findIndex(
    ({ artifactId }) => artifactId === artifact.artifactId,
  );
  const earlier = task.artifacts[index];
  if (!earlier) return { ...task, artifacts: [...task.artifacts, artifact] };
  const next = append
    ? { ...earlier, parts: [...earlier.parts, ...artifact.parts] }
    : artifact;
  return { ...task, artifacts: task.artifacts.with(index, next) };
}

function addUsage(before: Usage | undefined, used: Usage): Usage {
  return create(UsageSchema, {
    inputTokens: (before?.inputTokens ?? 0n) + used.inputTokens,
    cachedTokens: (before?.cachedTokens ?? 0n) + used.cachedTokens,
    outputTokens: (before?.outputTokens ?? 0n) + used.outputTokens,
    thoughtTokens: (before?.thoughtTokens ?? 0n) + used.thoughtTokens,
    contextTokens: used.contextTokens || (before?.contextTokens ?? 0n),
    contextWindowTokens:
      used.contextWindowTokens || (before?.contextWindowTokens ?? 0n),
  });
}
