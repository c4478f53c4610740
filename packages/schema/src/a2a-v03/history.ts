import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type Part, Role, type Task } from "../gen/devtool/v1alpha/task_pb.ts";
import { isInterrupted } from "../task-state.ts";
import { awaitedToolCalls, hasToolCall, isEnded, toolCallsOf } from "../tool-call.ts";
import { runsOf } from "./message.ts";

/** The conversation of a task, its question apart from it. */
export interface SplitHistory {
  readonly rest: readonly Message[];
  /** The calls that the task waits for, as the last run of the step that made them; undefined when it waits for none. */
  readonly question?: Message;
}

/**
 * Takes the calls that a task waits for out of its history, since A2A has the message of a status in no history. Their
 * message has the id of the step that made them, or of the next of its runs, so that a reader can put them back.
 */
export function splitQuestion(task: Task): SplitHistory {
  const asked = new Set(isInterrupted(task.state) ? awaitedToolCalls(task) : []);
  const isAsked = ({ content }: Part): boolean => content.case === "toolCall" && asked.has(content.value);
  const index = task.history.findLastIndex(({ parts }) => parts.some(isAsked));
  const step = task.history[index];
  if (!step) return { rest: task.history };
  const rest = task.history.map((message) => ({ ...message, parts: message.parts.filter((part) => !isAsked(part)) }));
  const runs = runsOf(rest[index]?.parts ?? []).length;
  const messageId = runs === 0 ? step.messageId : `${step.messageId}#${runs}`;
  const parts = task.history.flatMap((message) => message.parts.filter(isAsked));
  return { rest, question: create(MessageSchema, { messageId, role: Role.AGENT, parts }) };
}

/** Puts the calls of a status's message into the history where it does not have them. */
export function withQuestion(history: Message[], explained: Message | undefined): Message[] {
  const parts = (explained?.parts ?? []).filter(
    ({ content }) =>
      content.case === "toolCall" && !history.some((message) => hasToolCall(message, content.value.toolCallId)),
  );
  if (!explained || parts.length === 0) return history;
  const index = history.findLastIndex((message) => isRunOf(message, explained));
  const step = history[index];
  if (!step) return mergeSteps([...history, { ...explained, parts }]);
  return history.with(index, { ...step, parts: [...step.parts, ...parts] });
}

/** Puts the runs of one message, and the pieces of one step of an agent that numbers them otherwise, together again. */
export function mergeSteps(messages: readonly Message[]): Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last && last.role === message.role && (isRunOf(last, message) || isOpenStep(last))) {
      merged[merged.length - 1] = { ...last, parts: [...last.parts, ...message.parts] };
    } else merged.push(message);
  }
  return merged;
}

/** Tells whether a message is a later run of another: its id is that one's with a number. */
function isRunOf({ messageId }: Message, later: Message): boolean {
  return later.messageId.startsWith(`${messageId}#`) && /^#\d+$/.test(later.messageId.slice(messageId.length));
}

function isOpenStep(message: Message): boolean {
  const calls = toolCallsOf(message);
  return message.role === Role.AGENT && !(calls.length > 0 && calls.every(isEnded));
}
