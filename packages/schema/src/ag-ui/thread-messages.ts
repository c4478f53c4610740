import { create, equals, toJson } from "@bufbuild/protobuf";
import type { AgentThought } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  FileDiffSchema,
  type ToolCall,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type Message as AgUiMessage,
  MessageSchema as AgUiMessageSchema,
  ToolCallSchema as AgUiToolCallSchema,
} from "../gen/devtool/ag_ui/v1alpha/message_pb.ts";
import {
  type Message,
  Role,
  type Task,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { jsonValue } from "../rfc-json.ts";
import { isEnded, toolCallsOf } from "../tool-call.ts";
import { contentOf } from "./content.ts";

/**
 * Returns the messages of a task as those of a thread, oldest first. Messages
 * that wait for the agent are the last.
 */
export function threadMessagesOf(task: Task): AgUiMessage[] {
  const queued = task.queuedMessages.flatMap(({ message }) => message ?? []);
  const stated =
    task.stateText === ""
      ? []
      : [{ id: stateMessageId(task), text: task.stateText }];
  return [
    ...task.history.flatMap((message) =>
      message.role === Role.USER
        ? userMessages(message)
        : agentMessages(message),
    ),
    ...stated.map(({ id, text }) =>
      create(AgUiMessageSchema, {
        id,
        role: "assistant",
        content: jsonValue(text),
      }),
    ),
    ...queued.flatMap(userMessages),
  ];
}

/** Returns the id of the message that explains the state of a task. */
export function stateMessageId({
  id,
  sequence,
}: Pick<Task, "id" | "sequence">): string {
  return `${id}:state:${sequence}`;
}

/**
 * Returns the id of a thought: the one at an index among those of its message.
 */
export function thoughtId(messageId: string, index: number): string {
  return `${messageId}:thought:${index}`;
}

/** Returns the id of the message with the result of a call. */
export function resultId(toolCallId: string): string {
  return `${toolCallId}:result`;
}

/** Returns the text of a thought; empty if it has none. */
export function thoughtText({ subject, description }: AgentThought): string {
  return [subject, description].filter((line) => line !== "").join("\n\n");
}

/** A message of a user that only answers calls is not shown. */
function userMessages({ messageId: id, parts }: Message): AgUiMessage[] {
  const content = contentOf(parts);
  return content
    ? [create(AgUiMessageSchema, { id, role: "user", content })]
    : [];
}

function agentMessages(message: Message): AgUiMessage[] {
  const { messageId: id, parts } = message;
  const text = parts
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
  const toolCalls = toolCallsOf(message).map(
    ({ toolCallId, toolName: name, inputParameters = {} }) => {
      const named = { name, arguments: JSON.stringify(inputParameters) };
      return create(AgUiToolCallSchema, {
        id: toolCallId,
        type: "function",
        function: named,
      });
    },
  );
  const thoughts = parts.flatMap(({ content }) =>
    content.case === "thought" ? [thoughtText(content.value)] : [],
  );
  const results = toolCallsOf(message).filter(isEnded);
  return [
    ...thoughts.map((thought, index) =>
      create(AgUiMessageSchema, {
        id: thoughtId(id, index),
        role: "reasoning",
        content: jsonValue(thought),
      }),
    ),
    ...(text === "" && toolCalls.length === 0
      ? []
      : [
          create(AgUiMessageSchema, {
            id,
            role: "assistant",
            toolCalls,
            ...(text && { content: jsonValue(text) }),
          }),
        ]),
    ...results.map((call) => {
      const { toolCallId } = call;
      const content = jsonValue(resultTextOf(call));
      return create(AgUiMessageSchema, {
        id: resultId(toolCallId),
        role: "tool",
        toolCallId,
        content,
      });
    }),
  ];
}

/**
 * Returns whether a client has the messages of a thread.
 *
 * Messages of users are compared by their ids only. Thoughts are not compared,
 * because not all clients keep them.
 */
export function hasMessages(
  client: readonly AgUiMessage[],
  thread: readonly AgUiMessage[],
): boolean {
  const known = new Map(client.map((message) => [message.id, message]));
  return thread.every((message) => {
    if (message.role === "reasoning") return true;
    const theirs = known.get(message.id);
    if (message.role === "user" || !theirs) return theirs !== undefined;
    return equals(AgUiMessageSchema, comparable(theirs), comparable(message));
  });
}

/**
 * Returns the content and the calls of a message, without arguments: a user may
 * have changed them after the client got them.
 */
function comparable({ content, toolCalls }: AgUiMessage): AgUiMessage {
  const calls = toolCalls.map(({ id, function: named }) =>
    create(AgUiToolCallSchema, { id, function: { name: named?.name ?? "" } }),
  );
  return create(AgUiMessageSchema, { content, toolCalls: calls });
}

/**
 * Returns the result of a call that has ended as text, or why it has none.
 * Empty if the tool gave none.
 */
export function resultTextOf({ status, result }: ToolCall): string {
  if (status === ToolCallStatus.CANCELLED) {
    return "The call was declined or canceled.";
  }
  if (result.case === "error") return result.value.message;
  if (result.case !== "output") return "";
  const { result: output } = result.value;
  switch (output.case) {
    case "text":
      return output.value;
    case "structuredData":
      return JSON.stringify(output.value);
    case "diff":
      return (
        output.value.formattedDiff ??
        JSON.stringify(toJson(FileDiffSchema, output.value))
      );
    case undefined:
      return "";
    default:
      return output satisfies never;
  }
}
