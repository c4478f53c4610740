import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  awaitedToolCalls,
  findToolCallDetail,
  type Message,
  MessageSchema,
  OPTION_MODIFY_ARGUMENTS,
  type Part,
  PartSchema,
  quotedAbout,
  Role,
  type Task,
  type ToolCall,
  visibleCall,
} from "@devtool/schema";

/**
 * A tool call with the question that it asked at one moment.
 */
export interface AskedToolCall extends ToolCall {
  /**
   * Identifies the question: `ToolCallDetail.digest` of the call. Missing if
   * the server gave none.
   */
  readonly shownDigest?: Uint8Array;
  /**
   * Whether the server says that the user may replace the arguments of the
   * call; see `modifiedArgumentsPart`.
   */
  readonly argumentsEditable?: true;
}

/**
 * Returns the tool calls of a task that wait for the user's approval, in the
 * order in which the model made them. Each lists the choices in
 * `confirmationRequest.options`; their names say what they do, whatever the
 * server calls them. Their descriptions are in quotes: nobody knows whose words
 * a server hands on.
 */
export function pendingToolCalls(task: Task): AskedToolCall[] {
  return awaitedToolCalls(task).map((call) => {
    const { digest, argumentsEditable = false } =
      findToolCallDetail(task, call.toolCallId) ?? {};
    const shown = visibleCall(call);
    for (const option of shown.confirmationRequest?.options ?? []) {
      option.description = quotedAbout(option.description);
    }
    return {
      ...shown,
      ...(digest?.length && { shownDigest: digest }),
      ...(argumentsEditable && { argumentsEditable }),
    };
  });
}

/**
 * Creates the answer to a tool call that waits for approval: a part for the
 * next message to its task. One message may answer several calls.
 *
 * `optionId` is the id of one of `call.confirmationRequest.options`;
 * `OPTION_PROCEED_ONCE` and `OPTION_CANCEL` of `@devtool/schema` are the common
 * ones. `newContent` replaces the content that the call proposes to write to a
 * file.
 *
 * The answer is for the question that `call` shows. If the call asks about
 * something else by the time the answer arrives, the server refuses it with
 * `Code.FailedPrecondition`, and nothing runs. A call that is not of
 * `pendingToolCalls` or a task view has no digest: its answer counts for what
 * it asks then.
 *
 * ```ts
 * const parts = pendingToolCalls(task).map((call) => confirmationPart(call, "proceed_once"));
 * const message = { messageId: crypto.randomUUID(), parts };
 * for await (const event of streamMessage(client, { message, taskId: task.id }, signal)) { … }
 * ```
 *
 * Throws `Code.InvalidArgument` if the call does not wait for an answer, does
 * not offer the option, or gets new content although it does not propose a file
 * change.
 */
export function confirmationPart(
  call: AskedToolCall,
  optionId: string,
  newContent?: string,
): Part {
  const {
    toolCallId,
    confirmationRequest,
    shownDigest = new Uint8Array(),
  } = call;
  if (!confirmationRequest) throw notWaiting(toolCallId);
  const offered = confirmationRequest.options.map(({ id }) => id);
  if (!offered.includes(optionId)) {
    throw invalidAnswer(
      `option "${optionId}" is not offered: choose ${offered.join(", ")}`,
    );
  }
  const value = { toolCallId, selectedOptionId: optionId };
  if (newContent === undefined) {
    return create(PartSchema, {
      shownDigest,
      content: { case: "confirmation", value },
    });
  }
  if (confirmationRequest.details.case !== "fileEditDetails") {
    throw invalidAnswer(
      `tool call "${toolCallId}" does not propose a file change: leave out the new content`,
    );
  }
  const modifiedDetails = {
    case: "fileDetails",
    value: { newContent },
  } as const;
  const content = {
    case: "confirmation",
    value: { ...value, modifiedDetails },
  } as const;
  return create(PartSchema, { shownDigest, content });
}

/**
 * Creates the answer to a tool call that replaces its arguments: all of them,
 * by their names. Nothing runs: the call asks again with these arguments, under
 * another digest.
 *
 * The server refuses arguments that the tool or the policy does not take, and
 * calls of agents whose arguments cannot be changed. The question then stays
 * open.
 *
 * ```ts
 * const [call] = pendingToolCalls(task);
 * if (call?.argumentsEditable) parts.push(modifiedArgumentsPart(call, { ...call.inputParameters, command: "ls" }));
 * ```
 *
 * Throws `Code.InvalidArgument` if the call does not wait for an answer.
 */
export function modifiedArgumentsPart(
  call: AskedToolCall,
  modifiedArguments: JsonObject,
): Part {
  const {
    toolCallId,
    confirmationRequest,
    shownDigest = new Uint8Array(),
  } = call;
  if (!confirmationRequest) throw notWaiting(toolCallId);
  const value = { toolCallId, selectedOptionId: OPTION_MODIFY_ARGUMENTS };
  return create(PartSchema, {
    shownDigest,
    modifiedArguments,
    content: { case: "confirmation", value },
  });
}

/**
 * Creates a message with one text.
 *
 * Choose a new id for each message. Sending the same id and content again is a
 * retry: the server replays the exchange instead of starting another.
 */
export function textMessage(messageId: string, text: string): Message {
  return create(MessageSchema, {
    messageId,
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
  });
}

function notWaiting(toolCallId: string): ConnectError {
  return invalidAnswer(
    `tool call "${toolCallId}" does not wait for an answer: answer one of pendingToolCalls`,
  );
}

function invalidAnswer(problem: string): ConnectError {
  return new ConnectError(problem, Code.InvalidArgument);
}
