import { create } from "@bufbuild/protobuf";
import {
  answeredToolCall,
  confirmationsOf,
  findConfirmation,
  findToolCall,
  findToolCallDetail,
  isAwaitingApproval,
  isEnded,
  isQuestionOfCall,
  isTerminal,
  type Message,
  OPTION_MODIFY_ARGUMENTS,
  OPTION_MODIFY_WITH_EDITOR,
  type Part,
  type Task,
  type ToolCall,
  ToolCallAnswererSchema,
  type ToolCallConfirmation,
  ToolCallStage,
} from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { type CallUpdate, changedDetail } from "../agent/call-update.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";

/**
 * Returns the new versions of the tool calls that a message answers (TOOL-5);
 * none for a message without answers. Each records who answered: the principal
 * of the task, and what its program calls itself.
 *
 * Throws a `DevtoolError` when the task cannot take the message. The error
 * names the call, the option or the state, and nothing has changed.
 */
export function answeredCalls(
  task: Task,
  message: Message,
  clientLabel: string = "",
): CallUpdate[] {
  const confirmations = confirmationsOf(message);
  if (confirmations.length === 0) {
    assertTakesMessages(task);
    return [];
  }
  const ids = new Set<string>();
  for (const { toolCallId } of confirmations) {
    if (ids.has(toolCallId)) {
      throw invalid(
        "tool_call_id",
        toolCallId,
        "is answered twice in one message",
      );
    }
    ids.add(toolCallId);
  }
  for (const part of message.parts) assertShownQuestion(task, part);
  return message.parts.flatMap((part) => {
    if (part.content.case !== "confirmation") return [];
    const confirmation = part.content.value;
    const { selectedOptionId } = confirmation;
    const awaited = findAwaitedCall(task, confirmation);
    if (
      part.modifiedArguments ||
      selectedOptionId === OPTION_MODIFY_ARGUMENTS
    ) {
      assertValidEdit(task, part);
    } else {
      assertValidAnswer(awaited, confirmation);
    }
    const call = answeredToolCall(awaited, confirmation);
    const detail = findToolCallDetail(task, call.toolCallId);
    // A call that the user changed is validated again before it can run.
    const isChanged = CHANGES.has(selectedOptionId);
    const answerer = create(ToolCallAnswererSchema, {
      principal: task.principal,
      clientLabel,
    });
    const change = {
      selectedOptionId,
      answerer,
      ...(isChanged && { stage: ToolCallStage.VALIDATING }),
    };
    return [{ call, detail: changedDetail(detail, change) }];
  });
}

/**
 * Has the agent check the arguments that a message has in place of those of
 * tool calls (TOOL-12).
 *
 * Throws a `DevtoolError` if one of the calls is not open for them, or its
 * agent does not take them.
 */
export async function checkArguments(
  task: Task,
  message: Message,
  executor: Pick<AgentExecutor, "checkArguments">,
  signal: AbortSignal,
): Promise<void> {
  // Reports faults of the answer itself before it asks the agent.
  answeredCalls(task, message);
  for (const { content, modifiedArguments: args } of message.parts) {
    if (content.case !== "confirmation" || !args) continue;
    const { toolCallId } = content.value;
    const call = findToolCall(task, toolCallId);
    if (!call || !executor.checkArguments) {
      throw fixedArguments(toolCallId, "its agent takes no changed arguments");
    }
    await executor.checkArguments({ task, call, args }, signal);
  }
}

/** The options with which a call asks again. */
const CHANGES: ReadonlySet<string> = new Set([
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_MODIFY_ARGUMENTS,
]);

/**
 * Throws for a task that takes one message only: a slash command, or one that
 * is answered with a message alone.
 */
function assertTakesMessages({ id, command, replyOnly, state }: Task): void {
  if (!command && (!replyOnly || isTerminal(state))) return;
  const problem = command
    ? "runs a slash command"
    : "is answered with one message";
  throw new DevtoolError(
    `task ${JSON.stringify(id)} ${problem} and takes no other message`,
    Code.FailedPrecondition,
    {
      remedy: "start a new task",
      details: { field: "task_id", value: id },
    },
  );
}

/**
 * Finds the call that an answer is for. Throws when there is none, or when it
 * does not await an answer.
 */
function findAwaitedCall(
  task: Task,
  { toolCallId }: ToolCallConfirmation,
): ToolCall {
  if (toolCallId === "") {
    throw invalid(
      "tool_call_id",
      "",
      "is missing",
      "name the tool call that is answered",
    );
  }
  const call = findToolCall(task, toolCallId);
  if (!call) {
    throw invalid(
      "tool_call_id",
      toolCallId,
      `is unknown in task ${JSON.stringify(task.id)}`,
    );
  }
  if (isAwaitingApproval(call)) return call;
  const answer = findConfirmation(task, toolCallId);
  const ended = isEnded(call) ? "has already ended" : "asks nothing";
  const problem = answer
    ? `was already answered with ${JSON.stringify(answer.selectedOptionId)}`
    : ended;
  throw new DevtoolError(
    `tool call ${JSON.stringify(toolCallId)} ${problem}`,
    Code.FailedPrecondition,
    {
      details: { field: "tool_call_id", value: toolCallId },
    },
  );
}

/**
 * Throws for an answer to another question than the call asks now (TOOL-11). An
 * answer without a digest is for any.
 */
function assertShownQuestion(task: Task, { content, shownDigest }: Part): void {
  if (shownDigest.length === 0) return;
  if (content.case !== "confirmation") {
    throw invalid(
      "shown_digest",
      "",
      "is set for a part that answers no tool call",
      "leave it out",
    );
  }
  const { toolCallId } = findAwaitedCall(task, content.value);
  const { digest } = findToolCallDetail(task, toolCallId) ?? {};
  if (digest && Buffer.compare(digest, shownDigest) === 0) return;
  throw new DevtoolError(
    `tool call ${quoted(toolCallId)} asks about something else than was shown: its question has changed`,
    Code.FailedPrecondition,
    {
      remedy: "read the question again and answer it",
      details: { field: "shown_digest", value: toolCallId },
    },
  );
}

/**
 * Throws for an option that the call does not offer, and for content of a file
 * where none fits or it is missing.
 */
function assertValidAnswer(
  { confirmationRequest }: ToolCall,
  answer: ToolCallConfirmation,
): void {
  const { toolCallId, selectedOptionId, modifiedDetails } = answer;
  const options = confirmationRequest?.options.map(({ id }) => id) ?? [];
  if (!options.includes(selectedOptionId)) {
    const problem = `is not offered for tool call ${quoted(toolCallId)}`;
    throw invalid(
      "selected_option_id",
      selectedOptionId,
      problem,
      `choose ${options.join(", ")}`,
    );
  }
  const hasContent = modifiedDetails.case === "fileDetails";
  if (selectedOptionId === OPTION_MODIFY_WITH_EDITOR && !hasContent) {
    throw invalid(
      "file_details",
      "",
      `is missing: option ${selectedOptionId} needs the new content of the file`,
    );
  }
  if (hasContent && confirmationRequest?.details.case !== "fileEditDetails") {
    const problem = `is not for tool call ${quoted(toolCallId)}, which changes no file`;
    throw invalid("file_details", "", problem, "leave it out");
  }
}

/**
 * Throws for an answer with arguments of the user that has another option, or
 * also something else to change (TOOL-12).
 */
function assertValidEdit(
  task: Task,
  { content, modifiedArguments }: Part,
): void {
  if (content.case !== "confirmation") return;
  const { toolCallId, selectedOptionId, modifiedDetails } = content.value;
  if (!modifiedArguments) {
    const problem = `are missing: option ${selectedOptionId} needs all arguments of tool call ${quoted(toolCallId)}`;
    throw invalid("modified_arguments", "", problem);
  }
  if (selectedOptionId !== OPTION_MODIFY_ARGUMENTS) {
    const problem =
      "does not go with modified_arguments, with which the call asks again";
    throw invalid(
      "selected_option_id",
      selectedOptionId,
      problem,
      `choose ${OPTION_MODIFY_ARGUMENTS}`,
    );
  }
  if (modifiedDetails.case !== undefined) {
    throw invalid(
      "file_details",
      "",
      "does not go with modified_arguments",
      "write the content into the arguments",
    );
  }
  const isFixed = !findToolCallDetail(task, toolCallId)?.argumentsEditable;
  if (isFixed && isQuestionOfCall(task, toolCallId)) {
    throw fixedArguments(toolCallId, "it is a question of a running call");
  }
}

/** Creates the error for arguments that a user cannot change. */
function fixedArguments(toolCallId: string, why: string): DevtoolError {
  const problem = `cannot replace those of tool call ${quoted(toolCallId)}: ${why}`;
  return invalid(
    "modified_arguments",
    "",
    problem,
    "choose another option, or decline and say what you want",
  );
}
