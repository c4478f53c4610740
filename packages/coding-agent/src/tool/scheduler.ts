import { defined } from "@devtool/internal/json";
import { mergeReady } from "@devtool/internal/merge";
import {
  findConfirmation,
  findModifiedArguments,
  isAwaitingApproval,
  isQuestionOfCall,
  OPTION_CANCEL,
  OPTION_MODIFY_ARGUMENTS,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  type Task,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type CallUpdate,
  changedDetail,
  toolFailure,
} from "@devtool/server/agent";
import { translateError } from "../client-error.ts";
import { callDigest } from "./call-digest.ts";
import { askWithArguments } from "./edited-call.ts";
import { closeQuestions } from "./lasting-question.ts";
import { NO_EDITS, withPending } from "./pending-edits.ts";
import {
  applyDecision,
  askForApproval,
  cancelledCall,
  failedCall,
  hasSameEffect,
  type NewCall,
  outdatedCall,
  type PrepareContext,
  type PreparedCall,
  policyRequest,
  prepareCall,
  prepareFailure,
  prepareVersions,
  withAnswer,
} from "./prepared-call.ts";
import { resumeCalls } from "./resumed-calls.ts";
import { type RunContext, runCall } from "./running-call.ts";
import type { ToolInvocation } from "./tool.ts";

/** Dependencies of the scheduler. */
export interface SchedulerContext extends PrepareContext, RunContext {
  /**
   * Shows the edit that a call asks about in the user's editor until the signal
   * aborts, and has their decision there answer the call. Default: no editor
   * shows it.
   */
  readonly showEdit?:
    | ((asked: PreparedCall, signal: AbortSignal) => void)
    | undefined;
}

/** The maximum number of calls of one step that run. The other calls fail. */
const MAX_CALLS = 128;
/** The maximum number of calls that run side by side. */
const MAX_SIDE_BY_SIDE = 16;

/**
 * Runs the calls that a model requested in one step.
 *
 * Opens the approval questions and publishes all calls in one batch, then runs
 * them in order. Adjacent calls that need no order run side by side. An edit is
 * shown on top of the edits of the same file before it.
 *
 * Yields calls when they change. The caller must record them before it asks for
 * more, and a call in state EXECUTING must be durable by then.
 */
export async function* runNewCalls(
  calls: readonly NewCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly CallUpdate[]> {
  const message = `the step made ${calls.length} calls: only ${MAX_CALLS} of them run; make this one again in another step`;
  const prepared: PreparedCall[] = [];
  let pending = NO_EDITS;
  for (const update of calls.slice(0, MAX_CALLS)) {
    const item = await prepareCall(update, pending, context, signal);
    pending = withPending(pending, item.invocation);
    prepared.push(item);
  }
  for (const { call, detail } of calls.slice(MAX_CALLS)) {
    prepared.push({
      call: failedCall(call, toolFailure("execution_failed", message)),
      detail: changedDetail(detail, {}),
      invocation: undefined,
    });
  }
  openQuestions(prepared, context);
  yield prepared.flatMap((item, index) => {
    const requested = calls[index];
    if (item.call.status !== ToolCallStatus.FAILED || !requested) return [item];
    // A call that fails at once is published as PENDING before, since every
    // call starts in that state.
    const detail = changedDetail(requested.detail, {
      stage: ToolCallStage.VALIDATING,
    });
    return [{ call: requested.call, detail }, item];
  });
  yield* runPrepared(prepared, context, signal);
}

/**
 * Resumes calls that were published before a restart: those that wait for
 * approval still do, and approved ones run.
 */
export async function* runOpenCalls(
  calls: readonly ToolCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly CallUpdate[]> {
  for (const call of calls) {
    if (isAwaitingApproval(call)) context.confirmations.open(call.toolCallId);
  }
  // A question belongs to the call that asks it.
  const own = calls.filter(
    ({ toolCallId }) => !isQuestionOfCall(context.task, toolCallId),
  );
  const prepared = await resumeCalls(own, context, signal);
  openQuestions(prepared, context);
  const changed = prepared.filter(({ call }, index) => call !== own[index]);
  const failed = changed.filter(({ invocation }) => !invocation);
  const closed = failed.flatMap(({ call }) => [
    ...closeQuestions(call, context),
  ]);
  const updates = [...closed, ...changed];
  if (updates.length > 0) yield updates;
  yield* runPrepared(prepared, context, signal);
}

function openQuestions(
  prepared: readonly PreparedCall[],
  { confirmations }: SchedulerContext,
): void {
  for (const { call } of prepared) {
    if (isAwaitingApproval(call)) confirmations.open(call.toolCallId);
  }
}

/**
 * Runs groups of calls one after the other, and the calls of a group side by
 * side.
 */
async function* runPrepared(
  prepared: readonly PreparedCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly CallUpdate[]> {
  const runs: AsyncIterable<CallUpdate>[] = [];
  const step: StepState = {
    declined: false,
    contents: new Set(
      prepared.flatMap(({ invocation }) =>
        invocation ? contentsOf(invocation) : [],
      ),
    ),
  };
  let previous: Promise<unknown> = Promise.resolve();
  let followsChange = false;
  for (const group of groupsOf(prepared, context.task)) {
    const slots = group.map((item) => ({
      item,
      followsChange,
      start: previous,
      end: Promise.withResolvers<void>(),
    }));
    followsChange ||= group.some(mayChange);
    runs.push(...slots.map((slot) => runSlot(slot, step, context, signal)));
    previous = Promise.all([previous, ...slots.map(({ end }) => end.promise)]);
  }
  yield* mergeReady(runs);
}

/**
 * Splits calls into groups that run side by side: adjacent calls that read, or
 * that may change something without a question, or a single call that needs its
 * place in the order.
 */
function groupsOf(
  prepared: readonly PreparedCall[],
  task: Task,
): PreparedCall[][] {
  const groups: PreparedCall[][] = [];
  let open: PreparedCall[] = [];
  for (const item of prepared) {
    const isAlone = needsOrder(item, task);
    const joins =
      !isAlone &&
      open.length > 0 &&
      open.length < MAX_SIDE_BY_SIDE &&
      open.every((other) => mayMeet(item, other));
    if (joins) {
      open.push(item);
      continue;
    }
    const group = [item];
    groups.push(group);
    open = isAlone ? [] : group;
  }
  return groups;
}

/**
 * Whether a call runs after all calls before it and before all calls after it:
 * it edits files, says so itself, or may change something and the user is asked
 * about it.
 */
function needsOrder(item: PreparedCall, task: Task): boolean {
  const { call, invocation } = item;
  if (!invocation) return false;
  const { changes, confirmation, waitsForPrevious } = invocation;
  const isEdit = changes || confirmation?.case === "fileEditDetails";
  if (isEdit || waitsForPrevious) return true;
  const isAsked =
    isAwaitingApproval(call) ||
    // A call that was answered before a restart has the answer in the log.
    findConfirmation(task, call.toolCallId) !== undefined;
  return isAsked && mayChange(item);
}

/**
 * Whether two calls may run at the same time: a call that reads the workspace
 * sees all that a command before it has done, and nothing of one after it.
 */
function mayMeet(one: PreparedCall, other: PreparedCall): boolean {
  return !(
    (readsWorkspace(one) && mayChange(other)) ||
    (readsWorkspace(other) && mayChange(one))
  );
}

function readsWorkspace({ invocation }: PreparedCall): boolean {
  return invocation !== undefined && invocation.confirmation === undefined;
}

function mayChange({ invocation }: PreparedCall): boolean {
  return invocation?.confirmation !== undefined && !invocation.onlyReads;
}

/** The state that the calls of one step share. */
interface StepState {
  /** Whether the user has declined a call of the step. */
  declined: boolean;
  /** The contents that its edits expect and make, as `contentsOf` names them. */
  readonly contents: Set<string>;
}

/** The place of a call in the order of its step. */
interface Slot {
  readonly item: PreparedCall;
  /** Whether a call before it in the step may change something. */
  readonly followsChange: boolean;
  /** Resolves when the calls before have ended. */
  readonly start: Promise<unknown>;
  /** To be resolved when the call has ended. */
  readonly end: PromiseWithResolvers<void>;
}

/** Waits for the approval of a call and for its turn, then runs it. */
async function* runSlot(
  { item, followsChange, start, end }: Slot,
  step: StepState,
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<CallUpdate> {
  try {
    if (!item.invocation) return;
    let approval = yield* awaitApproval(item, context, signal);
    await start;
    if (followsChange && mayRun(approval, step)) {
      approval = yield* renewApproval(approval, step, context, signal);
    }
    const { approved, answer } = approval;
    if (isDeclined(approval)) {
      step.declined = true;
      return;
    }
    signal.throwIfAborted();
    if (!mayRun(approval, step)) {
      yield cancelledCall(item);
      return;
    }
    if (!approved.invocation) {
      yield approved;
      return;
    }
    const ran = withAnswer(approved.invocation, answer);
    for (const content of contentsOf(ran)) step.contents.add(content);
    yield* runApproved(approved, answer, context, signal);
  } finally {
    end.resolve();
  }
}

/** The outcome of `awaitApproval`. */
interface Approval {
  /** The call with the effect that the user saw last. */
  readonly approved: PreparedCall;
  /**
   * The user's answer, which may decline the call. Undefined when the call
   * needed no approval.
   */
  readonly answer: ToolCallConfirmation | undefined;
}

function isDeclined({ answer }: Approval): boolean {
  return answer?.selectedOptionId === OPTION_CANCEL;
}

/**
 * Whether a call may still run: calls that the user was not asked about do not
 * follow one that they declined.
 */
function mayRun(approval: Approval, { declined }: StepState): boolean {
  return !isDeclined(approval) && (!declined || approval.answer !== undefined);
}

/**
 * Names the contents of a file before and after the edit of an invocation.
 * Empty when it edits no file.
 */
function contentsOf({ edit }: ToolInvocation): string[] {
  if (!edit) return [];
  return [edit.oldDigest, edit.newDigest].map(
    (digest) => `${Buffer.from(digest).toString("hex")} ${edit.path}`,
  );
}

/**
 * Holds an approval of an edit against the file as the calls before it in the
 * step left it. If it would do something else now than the user saw, asks
 * again.
 */
async function* renewApproval(
  approval: Approval,
  step: StepState,
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncGenerator<CallUpdate, Approval> {
  const current = await onCurrentFile(approval, step, context, signal);
  if (current === approval.approved) return approval;
  if (!isAwaitingApproval(current.call)) {
    return { ...approval, approved: current };
  }
  context.confirmations.open(current.call.toolCallId);
  yield current;
  return yield* awaitApproval(current, context, signal);
}

/**
 * Returns the call as it was approved, unless it edits a file that is not as it
 * was shown. That edit is validated and decided anew, on the file as it is.
 *
 * One that was not asked about is only decided anew if the file has a content
 * of this step; otherwise somebody else changed it, and the call fails.
 */
async function onCurrentFile(
  { approved, answer }: Approval,
  step: StepState,
  context: SchedulerContext,
  signal: AbortSignal,
): Promise<PreparedCall> {
  const { call, detail, invocation } = approved;
  if (!invocation?.edit) return approved;
  try {
    const versions = await prepareVersions(call, NO_EDITS, context, signal);
    const [proposed] = versions;
    const isSame = versions.some((one) => hasSameEffect(approved, one));
    const [before = ""] = contentsOf(proposed);
    if (isSame || (!answer && !step.contents.has(before))) return approved;
    const current = versions.findLast((one) => one !== proposed) ?? proposed;
    const request = policyRequest(call, current, context);
    const decision = await context.policy.decide(request, signal);
    if (!answer || decision.decision === "deny") {
      return applyDecision(call, detail, current, decision);
    }
    const reason = "the file is not as the question before showed it";
    const changed = { ...approved, detail: changedDetail(detail, { reason }) };
    return askForApproval(changed, current);
  } catch (reason) {
    signal.throwIfAborted();
    const failed = prepareFailure(call, reason, context);
    return { call: failed, detail, invocation: undefined };
  }
}

/**
 * Waits for the user's answer to a call. If the user edits the proposal or the
 * arguments, asks again with what they wrote.
 */
async function* awaitApproval(
  prepared: PreparedCall,
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncGenerator<CallUpdate, Approval> {
  const { confirmations } = context;
  const { toolCallId } = prepared.call;
  let approved = prepared;
  let answer = isAwaitingApproval(prepared.call)
    ? await waitForAnswer(prepared, context, signal)
    : // A call that was answered before a restart has the answer in the log.
      findConfirmation(context.task, toolCallId);
  for (;;) {
    const edited =
      answer && (await withEdit(approved, answer, context, signal));
    if (!edited) return { approved, answer };
    approved = edited;
    confirmations.open(toolCallId);
    yield approved;
    answer = await waitForAnswer(approved, context, signal);
  }
}

/**
 * Waits for the answer to a question, which an editor shows meanwhile. The first
 * answer counts, wherever the user gives it.
 */
async function waitForAnswer(
  asked: PreparedCall,
  { confirmations, showEdit }: SchedulerContext,
  signal: AbortSignal,
): Promise<ToolCallConfirmation> {
  const answered = new AbortController();
  if (asked.invocation?.edit) {
    showEdit?.(asked, AbortSignal.any([signal, answered.signal]));
  }
  try {
    return await confirmations.wait(asked.call.toolCallId, signal);
  } finally {
    answered.abort();
  }
}

/**
 * Returns a call that asks again, with what the user wrote in an answer;
 * undefined for an answer that decides.
 */
async function withEdit(
  asked: PreparedCall,
  answer: ToolCallConfirmation,
  context: SchedulerContext,
  signal: AbortSignal,
): Promise<PreparedCall | undefined> {
  if (answer.selectedOptionId === OPTION_MODIFY_ARGUMENTS) {
    const args = findModifiedArguments(context.task, answer.toolCallId);
    return args && askWithArguments(asked, args, context, signal);
  }
  if (
    answer.selectedOptionId !== OPTION_MODIFY_WITH_EDITOR ||
    !asked.invocation
  ) {
    return undefined;
  }
  return askForApproval(asked, withAnswer(asked.invocation, answer));
}

/**
 * Runs a call with the effect that the user saw, or with the content that they
 * approved it with. Fails it otherwise.
 */
async function* runApproved(
  item: PreparedCall,
  answer: ToolCallConfirmation | undefined,
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<CallUpdate> {
  if (!item.invocation) return;
  if (!hasSameEffect(item, item.invocation)) {
    yield outdatedCall(item);
    return;
  }
  if (answer?.selectedOptionId === OPTION_PROCEED_ALWAYS_AND_SAVE) {
    try {
      await context.policy.save?.(
        policyRequest(item.call, item.invocation, context),
        signal,
      );
    } catch (reason) {
      throw translateError(reason);
    }
  }
  const invocation = withAnswer(item.invocation, answer);
  if (invocation === item.invocation) {
    yield* runCall(item, invocation, context, signal);
    return;
  }
  const effect = defined({
    digest: callDigest(item.call, invocation),
    edit: invocation.edit,
  });
  yield* runCall(
    { ...item, detail: changedDetail(item.detail, effect) },
    invocation,
    context,
    signal,
  );
}
