import {
  answeredToolCall,
  confirmationsOf,
  findConfirmation,
  findToolCall,
  findToolCallDetail,
  isAwaitingApproval,
  isEnded,
  isTerminal,
  type Message,
  OPTION_MODIFY_WITH_EDITOR,
  type Task,
  TaskState,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStage,
} from "@devtool/schema";
import { type CallUpdate, changedDetail } from "../agent/call-update.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";

/**
 * Checks that a task can take a message now, and gives the calls that it answers in their new form (TOOL-5). Throws a
 * `DevtoolError` that names the call, the option or the state; nothing has changed then.
 */
export function answeredCalls(task: Task, message: Message): CallUpdate[] {
  const confirmations = confirmationsOf(message);
  if (confirmations.length === 0) {
    assertTakesMessages(task);
    return [];
  }
  assertDistinct(confirmations);
  return confirmations.map((confirmation) => answeredCall(task, confirmation));
}

/** A call that its user wants to see with their own content is checked anew. */
function answeredCall(task: Task, confirmation: ToolCallConfirmation): CallUpdate {
  const { selectedOptionId } = confirmation;
  const call = answeredToolCall(awaitedCall(task, confirmation), confirmation);
  const isCheckedAnew = selectedOptionId === OPTION_MODIFY_WITH_EDITOR;
  const change = { selectedOptionId, ...(isCheckedAnew && { stage: ToolCallStage.VALIDATING }) };
  return { call, detail: changedDetail(findToolCallDetail(task, call.toolCallId), change) };
}

/** A slash command and an agent that answers with one message alone take nothing more. */
function assertTakesMessages({ id, command, replyOnly, state }: Task): void {
  if (!command && (!replyOnly || isTerminal(state))) return;
  const problem = command ? "runs a slash command" : "is answered with one message";
  throw new DevtoolError(`task ${JSON.stringify(id)} ${problem} and takes no other message`, Code.FailedPrecondition, {
    remedy: "start a new task",
    details: { field: "task_id", value: id },
  });
}

/** Throws `Code.FailedPrecondition` when a task has ended, so that there is nothing to cancel. */
export function assertNotEnded({ id, state }: Task): void {
  if (!isTerminal(state)) return;
  throw new DevtoolError(
    `task ${JSON.stringify(id)} is already ${TaskState[state].toLowerCase()}: it cannot be canceled`,
    Code.FailedPrecondition,
    { details: { field: "task_id", value: id } },
  );
}

function assertDistinct(confirmations: readonly ToolCallConfirmation[]): void {
  const seen = new Set<string>();
  for (const { toolCallId } of confirmations) {
    if (seen.has(toolCallId)) throw invalid("tool_call_id", toolCallId, "is answered twice in one message");
    seen.add(toolCallId);
  }
}

function awaitedCall(task: Task, confirmation: ToolCallConfirmation): ToolCall {
  const { toolCallId, selectedOptionId, modifiedDetails } = confirmation;
  if (toolCallId === "") throw invalid("tool_call_id", "", "is missing", "name the tool call that is answered");
  const call = findToolCall(task, toolCallId);
  if (!call) throw invalid("tool_call_id", toolCallId, `is unknown in task ${JSON.stringify(task.id)}`);
  if (!isAwaitingApproval(call)) throw notAwaiting(task, call);
  const options = call.confirmationRequest?.options.map(({ id }) => id) ?? [];
  if (!options.includes(selectedOptionId)) {
    throw invalid(
      "selected_option_id",
      selectedOptionId,
      `is not offered for tool call ${quoted(toolCallId)}`,
      `choose ${options.join(", ")}`,
    );
  }
  if (selectedOptionId === OPTION_MODIFY_WITH_EDITOR && modifiedDetails.case !== "fileDetails") {
    throw invalid("file_details", "", `is missing: option ${selectedOptionId} needs the new content of the file`);
  }
  if (modifiedDetails.case === "fileDetails" && call.confirmationRequest?.details.case !== "fileEditDetails") {
    throw invalid(
      "file_details",
      "",
      `is not for tool call ${quoted(toolCallId)}, which changes no file`,
      "leave it out",
    );
  }
  return call;
}

function notAwaiting(task: Task, call: ToolCall): DevtoolError {
  const answer = findConfirmation(task, call.toolCallId);
  const ended = isEnded(call) ? "has already ended" : "asks nothing";
  const problem = answer ? `was already answered with ${JSON.stringify(answer.selectedOptionId)}` : ended;
  return new DevtoolError(`tool call ${JSON.stringify(call.toolCallId)} ${problem}`, Code.FailedPrecondition, {
    details: { field: "tool_call_id", value: call.toolCallId },
  });
}
