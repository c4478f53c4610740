import type { JsonObject } from "@bufbuild/protobuf";
import type { ToolCallConfirmation } from "./gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import {
  type ToolCall,
  ToolCallStatus,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type Message,
  type Part,
  Role,
  type Task,
  type ToolCallDetail,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { mayHoldCall } from "./known-calls.ts";

/** Returns whether a call has ended, and will not change any more (TOOL-1). */
export function isEnded(call: ToolCall): boolean {
  return call.status >= ToolCallStatus.SUCCEEDED;
}

/** Returns whether a call waits for the user's answer (TOOL-2). */
export function isAwaitingApproval(call: ToolCall): boolean {
  return (
    call.status === ToolCallStatus.PENDING &&
    call.confirmationRequest !== undefined
  );
}

/**
 * Returns whether a call may move from one status to another: from PENDING to
 * any later one, from EXECUTING to itself or an end (TOOL-1).
 */
export function isStatusMove(
  from: ToolCallStatus,
  to: ToolCallStatus,
): boolean {
  if (from === ToolCallStatus.PENDING) {
    return to >= ToolCallStatus.PENDING && to !== ToolCallStatus.SUCCEEDED;
  }
  return from === ToolCallStatus.EXECUTING && to >= ToolCallStatus.EXECUTING;
}

/** Lists the tool calls of a message, in order. */
export function toolCallsOf(message: Message): ToolCall[] {
  return message.parts.flatMap(({ content }) =>
    content.case === "toolCall" ? [content.value] : [],
  );
}

/**
 * Lists the calls of a task that have not ended, in the order in which they
 * were made.
 *
 * They are all in the last step of the agent, which makes the next step only
 * when they have ended, and in the steps after it that hold only questions of
 * these calls.
 */
export function openToolCalls(task: Task): ToolCall[] {
  const steps = task.history
    .slice(Math.max(0, lastStepIndex(task)))
    .filter(({ role }) => role === Role.AGENT);
  return steps.flatMap(toolCallsOf).filter((call) => !isEnded(call));
}

/**
 * Returns the index in the history of the last step of the agent that does not
 * only hold questions of running calls. -1 if there is none.
 *
 * All open calls of the task are in this step and in the messages after it.
 */
export function lastStepIndex({ history }: Task): number {
  return history.findLastIndex(
    ({ role, parts }) =>
      role === Role.AGENT &&
      parts.some(({ toolCallDetail }) => !toolCallDetail?.parentToolCallId),
  );
}

/**
 * Lists the calls of a task that wait for the user's answer, in the order in
 * which they were made.
 */
export function awaitedToolCalls(task: Task): ToolCall[] {
  return openToolCalls(task).filter(isAwaitingApproval);
}

/**
 * Finds the part that holds a call, searching from the end. Undefined if there
 * is none.
 */
export function findToolCallPart(
  { history }: Task,
  toolCallId: string,
): Part | undefined {
  if (!mayHoldCall(history, toolCallId)) return undefined;
  for (let index = history.length - 1; index >= 0; index--) {
    const part = history[index]?.parts.find((part) =>
      holdsCall(part, toolCallId),
    );
    if (part) return part;
  }
  return undefined;
}

function holdsCall({ content }: Part, toolCallId: string): boolean {
  return content.case === "toolCall" && content.value.toolCallId === toolCallId;
}

/**
 * Finds a call by its id, searching from the end. Undefined if there is none.
 */
export function findToolCall(
  task: Task,
  toolCallId: string,
): ToolCall | undefined {
  const content = findToolCallPart(task, toolCallId)?.content;
  return content?.case === "toolCall" ? content.value : undefined;
}

/** Finds the detail of a call. Undefined if there is none. */
export function findToolCallDetail(
  task: Task,
  toolCallId: string,
): ToolCallDetail | undefined {
  return findToolCallPart(task, toolCallId)?.toolCallDetail;
}

/**
 * Returns whether a call is a question that another call asks while it runs.
 */
export function isQuestionOfCall(task: Task, toolCallId: string): boolean {
  return (findToolCallDetail(task, toolCallId)?.parentToolCallId ?? "") !== "";
}

/** Returns whether a message has a call. */
export function hasToolCall({ parts }: Message, toolCallId: string): boolean {
  return parts.some((part) => holdsCall(part, toolCallId));
}

/** Lists the answers in a message. */
export function confirmationsOf(message: Message): ToolCallConfirmation[] {
  return message.parts.flatMap(({ content }) =>
    content.case === "confirmation" ? [content.value] : [],
  );
}

/**
 * Lists the user's answers to a call, in order. They all come after the step
 * that made the call.
 */
export function answersTo(
  { history }: Task,
  toolCallId: string,
): ToolCallConfirmation[] {
  const step = history.findLastIndex((message) =>
    hasToolCall(message, toolCallId),
  );
  if (step < 0) return [];
  const answers = history.slice(step + 1).flatMap(confirmationsOf);
  return answers.filter(
    (confirmation) => confirmation.toolCallId === toolCallId,
  );
}

/** Finds the user's last answer to a call. Undefined if there is none. */
export function findConfirmation(
  task: Task,
  toolCallId: string,
): ToolCallConfirmation | undefined {
  return answersTo(task, toolCallId).at(-1);
}

/**
 * Returns the text that the user sent together with the last answer to a call.
 * Empty if there is none.
 */
export function answerText({ history }: Task, toolCallId: string): string {
  const message = history.findLast((one) =>
    confirmationsOf(one).some((answer) => answer.toolCallId === toolCallId),
  );
  const texts =
    message?.parts.flatMap(({ content }) =>
      content.case === "text" ? [content.value] : [],
    ) ?? [];
  return texts.join("\n");
}

/**
 * Finds the arguments that the user's last answer to a call has in place of
 * those of the call. Undefined if it has none (TOOL-12).
 */
export function findModifiedArguments(
  { history }: Task,
  toolCallId: string,
): JsonObject | undefined {
  for (const { parts } of history.toReversed()) {
    if (parts.some((part) => holdsCall(part, toolCallId))) return undefined;
    const answer = parts.findLast(
      ({ content }) =>
        content.case === "confirmation" &&
        content.value.toolCallId === toolCallId,
    );
    if (answer) return answer.modifiedArguments;
  }
  return undefined;
}

/**
 * Returns a call after its question was answered: it no longer asks, and is
 * CANCELLED if the answer declines it.
 *
 * Changes to the proposal are not applied here. The tool applies them when it
 * runs, or when the call asks again.
 */
export function answeredToolCall(
  call: ToolCall,
  confirmation: ToolCallConfirmation,
): ToolCall {
  const { confirmationRequest: _answered, ...rest } = call;
  return confirmation.selectedOptionId === OPTION_CANCEL
    ? { ...rest, status: ToolCallStatus.CANCELLED }
    : rest;
}

/** Option that declines a call (TOOL-4). */
export const OPTION_CANCEL = "cancel";

/**
 * Option that declines a call and lets the agent go on, where `cancel` also
 * ends its turn. Not in the RFC; only agents that tell the two apart offer it.
 */
export const OPTION_REJECT = "reject";

/** Option that approves a call once (TOOL-4). */
export const OPTION_PROCEED_ONCE = "proceed_once";

/** Option that approves similar calls for the rest of the session (TOOL-4). */
export const OPTION_PROCEED_ALWAYS = "proceed_always";

/** Option that approves a tool for the rest of the session (TOOL-4). */
export const OPTION_PROCEED_ALWAYS_TOOL = "proceed_always_tool";

/**
 * Option that approves all tools of an MCP server for the rest of the session
 * (TOOL-4).
 */
export const OPTION_PROCEED_ALWAYS_SERVER = "proceed_always_server";

/**
 * Option that approves similar calls permanently, in every session. Not in the
 * RFC; the name is Gemini CLI's.
 */
export const OPTION_PROCEED_ALWAYS_AND_SAVE = "proceed_always_and_save";

/**
 * Option that runs a command again without its sandbox.
 *
 * Not in the RFC. It has an id of its own so that no other approval can mean
 * it.
 */
export const OPTION_PROCEED_WITHOUT_SANDBOX = "proceed_without_sandbox";

/**
 * Option that asks again with the content that the user sends in the answer
 * (TOOL-4).
 */
export const OPTION_MODIFY_WITH_EDITOR = "modify_with_editor";

/**
 * Option that asks again with the arguments that the user sends in the answer
 * (TOOL-12).
 *
 * Not in the RFC, and never among the options of a question:
 * `ToolCallDetail.arguments_editable` offers it. It has an id of its own so
 * that a server which does not know it refuses the answer, instead of running
 * the call as it was.
 */
export const OPTION_MODIFY_ARGUMENTS = "modify_arguments";
