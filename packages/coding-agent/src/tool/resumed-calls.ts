import { create } from "@bufbuild/protobuf";
import {
  findConfirmation,
  findModifiedArguments,
  findToolCall,
  findToolCallDetail,
  isAwaitingApproval,
  isEnded,
  OPTION_CANCEL,
  OPTION_MODIFY_ARGUMENTS,
  OPTION_MODIFY_WITH_EDITOR,
  type Task,
  type ToolCall,
  type ToolCallDetail,
  ToolCallStatus,
  ToolOutputSchema,
  toolCallsOf,
} from "@devtool/schema";
import { changedDetail, toolFailure } from "@devtool/server/agent";
import { askWithArguments } from "./edited-call.ts";
import { NO_EDITS, withPending } from "./pending-edits.ts";
import {
  applyDecision,
  askForApproval,
  cancelledCall,
  failedCall,
  hasSameEffect,
  outdatedCall,
  type PrepareContext,
  type PreparedCall,
  policyRequest,
  prepareFailure,
  prepareVersions,
} from "./prepared-call.ts";
import type { PendingEdits } from "./tool.ts";

/**
 * Validates calls again that were published before a restart: those that wait
 * for approval still do, and approved ones may run.
 */
export async function resumeCalls(
  calls: readonly ToolCall[],
  context: PrepareContext,
  signal: AbortSignal,
): Promise<PreparedCall[]> {
  const resumed: { readonly call: ToolCall; readonly item: PreparedCall }[] =
    [];
  let pending = NO_EDITS;
  for (const call of calls) {
    const item = await resumeCall(call, pending, context, signal);
    pending = withPending(pending, item.invocation);
    resumed.push({ call, item });
  }
  // The task is read after all calls were validated: answers may have come
  // meanwhile.
  const { task } = context;
  return resumed
    .map(({ call, item }) => afterAnswer(call, item, task))
    .map((item) =>
      followsDeclined(item.call, task) ? cancelledCall(item) : item,
    );
}

/**
 * Validates a call again that was published before a restart. It builds on
 * `pending`, the edits of the open calls before it. One whose arguments the user
 * changed asks again, with these arguments.
 *
 * The call may run only with the effect that the user saw. If its effect would
 * be different now, a call that waits for approval asks again, and an approved
 * call fails. So does one that the rules deny by now.
 */
async function resumeCall(
  call: ToolCall,
  pending: PendingEdits,
  context: PrepareContext,
  signal: AbortSignal,
): Promise<PreparedCall> {
  const detail = changedDetail(
    findToolCallDetail(context.task, call.toolCallId),
    {},
  );
  const isAnswered =
    call.status === ToolCallStatus.PENDING && !isAwaitingApproval(call);
  const args = isAnswered
    ? findModifiedArguments(context.task, call.toolCallId)
    : undefined;
  try {
    if (args) {
      const before = { call, detail, invocation: undefined };
      return await askWithArguments(before, args, context, signal);
    }
    const settled = settleInterruptedEdit(call, detail, context);
    if (settled) return { call: settled, detail, invocation: undefined };
    const versions = await prepareVersions(call, pending, context, signal);
    const [proposed] = versions;
    const prepared = { call, detail, invocation: proposed };
    const shown = versions.findLast((invocation) =>
      hasSameEffect(prepared, invocation),
    );
    if (shown) {
      // The rules may have changed since they let the call run or ask.
      const decision = await context.policy.decide(
        policyRequest(call, shown, context),
        signal,
      );
      if (decision.decision === "deny") {
        return applyDecision(call, detail, shown, decision);
      }
      return { call, detail, invocation: shown };
    }
    return call.confirmationRequest
      ? askForApproval(prepared, proposed)
      : outdatedCall(prepared);
  } catch (reason) {
    signal.throwIfAborted();
    return {
      call: prepareFailure(call, reason, context),
      detail,
      invocation: undefined,
    };
  }
}

/**
 * Returns the ended call for an edit that was interrupted. Undefined for any
 * other call, and for an edit that may still run.
 */
function settleInterruptedEdit(
  call: ToolCall,
  { edit }: ToolCallDetail,
  { settle }: PrepareContext,
): ToolCall | undefined {
  if (call.status !== ToolCallStatus.EXECUTING || !edit) return undefined;
  switch (settle(edit)) {
    case "not begun":
      return undefined;
    case "done": {
      const text = `The edit of ${edit.path} was made before the server stopped.`;
      const value = create(ToolOutputSchema, {
        result: { case: "text", value: text },
      });
      return {
        ...call,
        status: ToolCallStatus.SUCCEEDED,
        result: { case: "output", value },
      };
    }
    case "unknown": {
      const message = `the server stopped while the call ran, and ${edit.path} has changed since: look at it`;
      return failedCall(call, toolFailure("interrupted", message));
    }
  }
}

/**
 * Returns a resumed call as it is after an answer that came while the call was
 * validated. The answer is for the question before: it can decline the call, or
 * send content or arguments for another question, but does not approve another
 * effect.
 *
 * @param before the call as it was before it was validated
 */
function afterAnswer(
  before: ToolCall,
  item: PreparedCall,
  task: Task,
): PreparedCall {
  const { toolCallId } = before;
  const recorded = findToolCall(task, toolCallId);
  const isAnswered =
    isAwaitingApproval(before) &&
    recorded !== undefined &&
    !isAwaitingApproval(recorded);
  if (item.call === before || !isAnswered) return item;
  if (isEnded(recorded)) return { ...item, call: before };
  const option = findConfirmation(task, toolCallId)?.selectedOptionId;
  const asksAgain =
    option === OPTION_MODIFY_WITH_EDITOR || option === OPTION_MODIFY_ARGUMENTS;
  return isAwaitingApproval(item.call) && !asksAgain
    ? outdatedCall(item)
    : item;
}

/**
 * Whether the user declined an earlier call of the same step before the
 * restart, and was not asked about this one.
 *
 * The declined call has ended, so it is not among the calls that are resumed. A
 * step is one message of the agent.
 */
function followsDeclined(call: ToolCall, task: Task): boolean {
  if (call.status !== ToolCallStatus.PENDING || isAwaitingApproval(call)) {
    return false;
  }
  if (findConfirmation(task, call.toolCallId)) return false;
  const steps = task.history.map((message) =>
    toolCallsOf(message).map(({ toolCallId }) => toolCallId),
  );
  const step = steps.findLast((ids) => ids.includes(call.toolCallId)) ?? [];
  return step
    .slice(0, step.indexOf(call.toolCallId))
    .some(
      (earlier) =>
        findConfirmation(task, earlier)?.selectedOptionId === OPTION_CANCEL,
    );
}
