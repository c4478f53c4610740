import { create } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  declineOf,
  type Message,
  MessageSchema,
  OPTION_PROCEED_ONCE,
  type Part,
  PartSchema,
  Role,
  type Task,
} from "@devtool/schema";
import type { UIMessage } from "ai";
import { confirmationPart, pendingToolCalls } from "../confirmation.ts";
import { approvalIdOf } from "./ui-message.ts";

/**
 * Returns the message that a user's message of a chat says. It keeps its id, so
 * sending it again is a retry.
 *
 * Throws `Code.InvalidArgument` for parts other than texts and files.
 */
export function messageOfUser({ id, parts }: UIMessage): Message {
  const sent = parts.map((part): Part => {
    if (part.type === "text") {
      return create(PartSchema, {
        content: { case: "text", value: part.text },
      });
    }
    if (part.type !== "file") {
      const problem = `part "${part.type}" cannot be sent to an agent: send text and files`;
      throw new ConnectError(problem, Code.InvalidArgument);
    }
    const { url, mediaType, filename: name = "" } = part;
    const inline = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1];
    if (inline === undefined && url.startsWith("data:")) {
      throw new ConnectError(
        `file "${name}" is a data URL without base64: encode it so`,
        Code.InvalidArgument,
      );
    }
    const source =
      inline === undefined
        ? ({ case: "uri", value: url } as const)
        : ({ case: "bytes", value: base64Decode(inline) } as const);
    return create(PartSchema, {
      content: { case: "file", value: { name, mediaType, source } },
    });
  });
  return create(MessageSchema, { messageId: id, role: Role.USER, parts: sent });
}

/**
 * Returns the answers that a message of a chat has for the questions of a task:
 * an approval allows its call once, a refusal declines it.
 *
 * Answers to calls that no longer wait are left out; they were sent before, or
 * somebody else has answered.
 *
 * Throws `Code.FailedPrecondition` if a call asks about something else by now,
 * or if nothing is left to answer, and `Code.InvalidArgument` if a call does
 * not offer the option that an answer means.
 */
export function answersIn({ parts }: UIMessage, task: Task): Part[] {
  const pending = pendingToolCalls(task);
  const answers = parts.flatMap((part) => {
    if (part.type !== "dynamic-tool" || part.state !== "approval-responded") {
      return [];
    }
    const { toolCallId, approval } = part;
    const call = pending.find((asked) => asked.toolCallId === toolCallId);
    if (!call) return [];
    if (approvalIdOf(call) !== approval.id) {
      const problem = `tool call "${toolCallId}" asks about something else by now: resume the stream and answer that`;
      throw new ConnectError(problem, Code.FailedPrecondition);
    }
    return [
      confirmationPart(
        call,
        approval.approved ? OPTION_PROCEED_ONCE : declineOf(call),
      ),
    ];
  });
  if (answers.length > 0) return answers;
  throw new ConnectError(
    `task "${task.id}" waits for none of these answers: resume the stream to see what it does`,
    Code.FailedPrecondition,
  );
}
