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

/** The calls of a task that wait for an answer, in the order the model made them. */
export function pendingToolCalls(task: Task): ToolCall[] {
  return awaitedToolCalls(task);
}

/**
 * Answers the question of a call: a part to be put into the next message to its task, beside others. Throws
 * `Code.InvalidArgument` when the call does not ask, does not offer the option, or proposes no file whose content
 * could be replaced.
 */
export function confirmationPart(call: ToolCall, optionId: string, newContent?: string): Part {
  const request = call.confirmationRequest;
  if (!request) throw invalid(`tool call "${call.toolCallId}" does not ask`);
  const offered = request.options.map(({ id }) => id);
  if (!offered.includes(optionId)) throw invalid(`option "${optionId}" is not offered: choose ${offered.join(", ")}`);
  if (newContent !== undefined && request.details.case !== "fileEditDetails") {
    throw invalid(`tool call "${call.toolCallId}" proposes no file: its content cannot be replaced`);
  }
  return create(PartSchema, {
    content: {
      case: "confirmation",
      value: {
        toolCallId: call.toolCallId,
        selectedOptionId: optionId,
        ...(newContent !== undefined && { modifiedDetails: { case: "fileDetails", value: { newContent } } }),
      },
    },
  });
}

/** Makes a message of one text under an id; choose a new id for each message, and the same one to send it again. */
export function textMessage(messageId: string, text: string): Message {
  return create(MessageSchema, { messageId, role: Role.USER, parts: [{ content: { case: "text", value: text } }] });
}

function invalid(problem: string): ConnectError {
  return new ConnectError(problem, Code.InvalidArgument);
}
