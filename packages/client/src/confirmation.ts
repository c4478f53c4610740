import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  awaitedToolCalls,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type Task,
  type ToolCall,
} from "@devtool/schema";

/**
 * Returns the tool calls of a task that wait for the user's approval, in the order in which the
 * model made them. Each lists the choices in `confirmationRequest.options`.
 */
export function pendingToolCalls(task: Task): ToolCall[] {
  return awaitedToolCalls(task);
}

/**
 * Creates the answer to a tool call that waits for approval: a part for the next message to its
 * task. One message may answer several calls.
 *
 * `newContent` replaces the content that the call proposes to write to a file.
 *
 * ```ts
 * const parts = pendingToolCalls(task).map((call) => confirmationPart(call, "proceed_once"));
 * const message = { messageId: crypto.randomUUID(), parts };
 * for await (const event of streamMessage(client, { message, taskId: task.id }, signal)) { … }
 * ```
 *
 * Throws `Code.InvalidArgument` if the call does not wait for an answer, does not offer the option,
 * or gets new content although it does not propose a file change.
 */
export function confirmationPart(call: ToolCall, optionId: string, newContent?: string): Part {
  const { toolCallId, confirmationRequest } = call;
  if (!confirmationRequest) {
    throw invalidAnswer(`tool call "${toolCallId}" does not wait for an answer: answer one of pendingToolCalls`);
  }
  const offered = confirmationRequest.options.map(({ id }) => id);
  if (!offered.includes(optionId)) {
    throw invalidAnswer(`option "${optionId}" is not offered: choose ${offered.join(", ")}`);
  }
  const value = { toolCallId, selectedOptionId: optionId };
  if (newContent === undefined) return create(PartSchema, { content: { case: "confirmation", value } });
  if (confirmationRequest.details.case !== "fileEditDetails") {
    throw invalidAnswer(`tool call "${toolCallId}" does not propose a file change: leave out the new content`);
  }
  const modifiedDetails = { case: "fileDetails", value: { newContent } } as const;
  return create(PartSchema, { content: { case: "confirmation", value: { ...value, modifiedDetails } } });
}

/**
 * Creates a message with one text.
 *
 * Choose a new id for each message. Sending the same id and content again is a retry: the server
 * replays the exchange instead of starting another.
 */
export function textMessage(messageId: string, text: string): Message {
  return create(MessageSchema, { messageId, role: Role.USER, parts: [{ content: { case: "text", value: text } }] });
}

function invalidAnswer(problem: string): ConnectError {
  return new ConnectError(problem, Code.InvalidArgument);
}
