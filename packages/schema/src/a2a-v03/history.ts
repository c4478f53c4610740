import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  type Part,
  Role,
  type Task,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { isInterrupted } from "../task-state.ts";
import {
  awaitedToolCalls,
  confirmationsOf,
  hasToolCall,
  isEnded,
  toolCallsOf,
} from "../tool-call.ts";
import { runsOf } from "./message.ts";

/** The history of a task, split into the open question and the rest. */
export interface SplitHistory {
  readonly rest: readonly Message[];
  /**
   * The tool calls that the task waits for, as the last run of the step that
   * made them. Absent if it waits for none.
   */
  readonly question?: Message;
}

/**
 * Separates the tool calls that a task waits for from its history.
 *
 * In A2A, the message of a status is not part of the history. The message with
 * the calls has the id of the step that made them, or of the next run of that
 * step, so that a reader can put them back in place.
 */
export function splitQuestion(task: Task): SplitHistory {
  const asked = new Set(
    isInterrupted(task.state) ? awaitedToolCalls(task) : [],
  );
  const isAsked = ({ content }: Part): boolean =>
    content.case === "toolCall" && asked.has(content.value);
  const index = task.history.findLastIndex(({ parts }) => parts.some(isAsked));
  const step = task.history[index];
  if (!step) return { rest: task.history };
  const rest = task.history.map((message) => ({
    ...message,
    parts: message.parts.filter((part) => !isAsked(part)),
  }));
  const runs = runsOf(rest[index]?.parts ?? []).length;
  const messageId = runs === 0 ? step.messageId : `${step.messageId}#${runs}`;
  const parts = task.history.flatMap((message) =>
    message.parts.filter(isAsked),
  );
  return {
    rest,
    question: create(MessageSchema, { messageId, role: Role.AGENT, parts }),
  };
}

/**
 * Returns a task whose agent's messages name the model that answered: the one
 * that the message before asked for, or else that of the session.
 */
export function withModels(task: Task): Task {
  const { history, model, sessionSettings } = task;
  const asks = (message: Message): boolean =>
    message.role === Role.USER && confirmationsOf(message).length === 0;
  const isLastAsked = (history.findLast(asks)?.model ?? "") !== "";
  const ofSession = (isLastAsked && sessionSettings?.model) || model;
  let asked = "";
  return {
    ...task,
    history: history.map((message) => {
      if (asks(message)) asked = message.model;
      return message.role === Role.USER
        ? message
        : { ...message, model: asked || ofSession };
    }),
  };
}

/**
 * Adds the tool calls of a status's message to the history, unless they are
 * there already.
 */
export function withQuestion(
  history: Message[],
  explained: Message | undefined,
): Message[] {
  const parts = (explained?.parts ?? []).filter(
    ({ content }) =>
      content.case === "toolCall" &&
      !history.some((message) =>
        hasToolCall(message, content.value.toolCallId),
      ),
  );
  if (!explained || parts.length === 0) return history;
  const index = history.findLastIndex((message) => isRunOf(message, explained));
  const step = history[index];
  if (!step) return mergeSteps([...history, { ...explained, parts }]);
  return history.with(index, { ...step, parts: [...step.parts, ...parts] });
}

/**
 * Merges the runs of each message, and the parts of one agent step that another
 * agent sent as several messages.
 */
export function mergeSteps(messages: readonly Message[]): Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const calls = last ? toolCallsOf(last) : [];
    const isOpenStep =
      last?.role === Role.AGENT && !(calls.length > 0 && calls.every(isEnded));
    if (
      last &&
      last.role === message.role &&
      (isOpenStep || isRunOf(last, message))
    ) {
      merged[merged.length - 1] = {
        ...last,
        parts: [...last.parts, ...message.parts],
      };
    } else {
      merged.push(message);
    }
  }
  return merged;
}

/**
 * Returns whether a message is a later run of another one: its id is that of
 * the other one, `#` and a number.
 */
function isRunOf({ messageId }: Message, later: Message): boolean {
  return (
    later.messageId.startsWith(`${messageId}#`) &&
    /^#\d+$/.test(later.messageId.slice(messageId.length))
  );
}
