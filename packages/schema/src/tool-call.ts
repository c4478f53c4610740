import type { ToolCallConfirmation } from "./gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import { type ToolCall, ToolCallStatus } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { type Message, type Part, Role, type Task, type ToolCallDetail } from "./gen/devtool/v1alpha/task_pb.ts";

import { mayHoldCall } from "./known-calls.ts";

/** Tells whether a call has ended: it will not change any more (TOOL-1). */
export function isEnded(call: ToolCall): boolean {
  return call.status >= ToolCallStatus.SUCCEEDED;
}

/** Tells whether a call waits for the user's answer (TOOL-2). */
export function isAwaitingApproval(call: ToolCall): boolean {
  return call.status === ToolCallStatus.PENDING && call.confirmationRequest !== undefined;
}

/**
 * Tells whether a call may move from one status to the next: PENDING to any later one, EXECUTING to itself and the
 * ended ones, and from those nowhere (TOOL-1).
 */
export function isStatusMove(from: ToolCallStatus, to: ToolCallStatus): boolean {
  if (from === ToolCallStatus.PENDING) return to >= ToolCallStatus.PENDING && to !== ToolCallStatus.SUCCEEDED;
  return from === ToolCallStatus.EXECUTING && to >= ToolCallStatus.EXECUTING;
}

/** Lists the tool calls of a message, in order. */
export function toolCallsOf(message: Message): ToolCall[] {
  return message.parts.flatMap(({ content }) => (content.case === "toolCall" ? [content.value] : []));
}

/**
 * Lists the calls of a task that have not ended, in the order they were made. They are all in the agent's last step,
 * since it makes the next only when they have ended, and behind it in steps that hold nothing but questions of its calls.
 */
export function openToolCalls({ history }: Task): ToolCall[] {
  const last = history.findLastIndex(({ role, parts }) => role === Role.AGENT && !parts.every(isQuestion));
  const steps = history.slice(Math.max(0, last)).filter(({ role }) => role === Role.AGENT);
  return steps.flatMap(toolCallsOf).filter((call) => !isEnded(call));
}

/** Lists the calls of a task that wait for the user's answer, in the order they were made. */
export function awaitedToolCalls(task: Task): ToolCall[] {
  return openToolCalls(task).filter(isAwaitingApproval);
}

function isQuestion({ toolCallDetail }: Part): boolean {
  return toolCallDetail !== undefined && toolCallDetail.parentToolCallId !== "";
}

/** Finds the part of a task that holds a call, the latest first; undefined when it has none. */
export function findToolCallPart({ history }: Task, toolCallId: string): Part | undefined {
  if (!mayHoldCall(history, toolCallId)) return undefined;
  for (let index = history.length - 1; index >= 0; index--) {
    const part = history[index]?.parts.find((part) => holdsCall(part, toolCallId));
    if (part) return part;
  }
  return undefined;
}

function holdsCall({ content }: Part, toolCallId: string): boolean {
  return content.case === "toolCall" && content.value.toolCallId === toolCallId;
}

/** Finds a call of a task by its id, the latest first; undefined when it has none. */
export function findToolCall(task: Task, toolCallId: string): ToolCall | undefined {
  const content = findToolCallPart(task, toolCallId)?.content;
  return content?.case === "toolCall" ? content.value : undefined;
}

/** Finds what the scheduler said last about a call; undefined when it said nothing. */
export function findToolCallDetail(task: Task, toolCallId: string): ToolCallDetail | undefined {
  return findToolCallPart(task, toolCallId)?.toolCallDetail;
}

/** Tells whether a call belongs to another one: a question that the other asks while it runs. */
export function isQuestionOfCall(task: Task, toolCallId: string): boolean {
  return (findToolCallDetail(task, toolCallId)?.parentToolCallId ?? "") !== "";
}

/** Tells whether a call is among those of a message. */
export function hasToolCall({ parts }: Message, toolCallId: string): boolean {
  return parts.some((part) => holdsCall(part, toolCallId));
}

/** Lists the answers that a message holds. */
export function confirmationsOf(message: Message): ToolCallConfirmation[] {
  return message.parts.flatMap(({ content }) => (content.case === "confirmation" ? [content.value] : []));
}

/** Lists the answers that the user gave to a call, in order. They all come after the step that made it. */
export function answersTo({ history }: Task, toolCallId: string): ToolCallConfirmation[] {
  const step = history.findLastIndex((message) => hasToolCall(message, toolCallId));
  if (step < 0) return [];
  const answers = history.slice(step + 1).flatMap(confirmationsOf);
  return answers.filter((confirmation) => confirmation.toolCallId === toolCallId);
}

/** Finds the last answer that the user gave to a call; undefined when it was not asked about or not answered. */
export function findConfirmation(task: Task, toolCallId: string): ToolCallConfirmation | undefined {
  return answersTo(task, toolCallId).at(-1);
}

/**
 * A call after its question was answered: it asks no more, and is CANCELLED when the answer says so.
 * The change of a proposal is applied by the tool, when it runs or when it is put anew.
 */
export function answeredToolCall(call: ToolCall, confirmation: ToolCallConfirmation): ToolCall {
  const { confirmationRequest: _answered, ...rest } = call;
  return confirmation.selectedOptionId === OPTION_CANCEL ? { ...rest, status: ToolCallStatus.CANCELLED } : rest;
}

/** The option that declines a call (TOOL-4). */
export const OPTION_CANCEL = "cancel";

/** The option that lets a call run this once (TOOL-4). */
export const OPTION_PROCEED_ONCE = "proceed_once";

/** The option that lets calls like this run for the rest of the session (TOOL-4). */
export const OPTION_PROCEED_ALWAYS = "proceed_always";

/** The option that lets this tool run for the rest of the session (TOOL-4). */
export const OPTION_PROCEED_ALWAYS_TOOL = "proceed_always_tool";

/** The option that lets the tools of this MCP server run for the rest of the session (TOOL-4). */
export const OPTION_PROCEED_ALWAYS_SERVER = "proceed_always_server";

/** The option that lets calls like this run from now on, in every session. Not in the RFC; as Gemini CLI has it. */
export const OPTION_PROCEED_ALWAYS_AND_SAVE = "proceed_always_and_save";

/** The option that runs a command again without its sandbox. Not in the RFC: an id of its own, so that no other yes means it. */
export const OPTION_PROCEED_WITHOUT_SANDBOX = "proceed_without_sandbox";

/** The option that puts the call anew with the content that the user gives beside it (TOOL-4). */
export const OPTION_MODIFY_WITH_EDITOR = "modify_with_editor";
