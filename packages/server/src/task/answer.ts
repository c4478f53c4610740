import {
  answeredToolCall,
  confirmationsOf,
  findConfirmation,
  findToolCall,
  findToolCallDetail,
  isAwaitingApproval,
  isEnded,
  isInterrupted,
  isTerminal,
  type Message,
  OPTION_MODIFY_WITH_EDITOR,
  openToolCalls,
  type Task,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStage,
} from "@devtool/schema";
import { Code, DevtoolError, invalid } from "../errors.ts";
import { type CallUpdate, changedDetail } from "../tool/call-update.ts";

/**
 * Checks that a task can take a message now, and gives the calls that it answers in their new form (TOOL-5). Throws a
 * `DevtoolError` that names the call, the option or the state; nothing has changed then.
 */
export function answeredCalls(task: Task, message: Message): CallUpdate[] {
  const confirmations = confirmationsOf(message);
  if (confirmations.length === 0) {
    assertTakesMessage(task);
    return [];
  }
  assertDistinct(confirmations);
  return confirmations.map((confirmation) => answeredCall(task, confirmation));
}

/** A call that its user wants to see with their own content is checked anew. */
function answeredCall(task: Task, confirmation: ToolCallConfirmation): CallUpdate {
  const call = answeredToolCall(awaitedCall(task, confirmation), confirmation);
  if (confirmation.selectedOptionId !== OPTION_MODIFY_WITH_EDITOR) return { call };
  const detail = findToolCallDetail(task, call.toolCallId);
  return { call, detail: changedDetail(detail, { stage: ToolCallStage.VALIDATING }) };
}

function assertTakesMessage(task: Task): void {
  const asked = openToolCalls(task).filter(isAwaitingApproval);
  const subject = `task ${JSON.stringify(task.id)}`;
  const precondition = (problem: string): DevtoolError =>
    new DevtoolError(`${subject} ${problem}`, Code.FailedPrecondition, {
      details: { field: "task_id", value: task.id },
    });
  if (asked.length > 0) throw precondition(`waits for an answer to ${quoteIds(asked)}: answer it or cancel the task`);
  if (!isTerminal(task.state) && !isInterrupted(task.state)) {
    throw precondition("is working: cancel it or wait for input-required");
  }
  if (task.command) throw precondition("ran a slash command: start a new task");
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
  const call = findToolCall(task, toolCallId);
  if (!call) throw invalid("tool_call_id", toolCallId, `is unknown in task ${JSON.stringify(task.id)}`);
  if (!isAwaitingApproval(call)) throw notAwaiting(task, call);
  const options = call.confirmationRequest?.options.map(({ id }) => id) ?? [];
  if (!options.includes(selectedOptionId)) {
    throw invalid(
      "selected_option_id",
      selectedOptionId,
      `is not offered for tool call ${JSON.stringify(toolCallId)}: choose ${options.join(", ")}`,
    );
  }
  if (selectedOptionId === OPTION_MODIFY_WITH_EDITOR && modifiedDetails.case !== "fileDetails") {
    throw invalid(
      "modified_details",
      "",
      `option ${selectedOptionId} needs it: send file_details with the new content`,
    );
  }
  if (modifiedDetails.case === "fileDetails" && call.confirmationRequest?.details.case !== "fileEditDetails") {
    throw invalid(
      "modified_details",
      "file_details",
      `tool call ${JSON.stringify(toolCallId)} proposes no file: leave it out`,
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

function quoteIds(calls: readonly ToolCall[]): string {
  return calls.map((call) => `tool call ${JSON.stringify(call.toolCallId)}`).join(", ");
}
