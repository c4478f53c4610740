import {
  findConfirmation,
  findModifiedArguments,
  isAwaitingApproval,
  OPTION_CANCEL,
  OPTION_MODIFY_ARGUMENTS,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import { defined } from "@devtool/schema/json";
import {
  type CallUpdate,
  changedDetail,
  mergeReady,
  toolFailure,
} from "@devtool/server/agent";
import { translateError } from "../client-error.ts";
import { callDigest } from "./call-digest.ts";
import { askWithArguments } from "./edited-call.ts";
import {
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
  withAnswer,
} from "./prepared-call.ts";
import { resumeCalls } from "./resumed-calls.ts";
import { type RunContext, runCall } from "./running-call.ts";

/** Dependencies of the scheduler. */
export interface SchedulerContext extends PrepareContext, RunContext {}

/** The maximum number of calls of one step that run. The other calls fail. */
const MAX_CALLS = 128;

/**
 * Runs the calls that a model requested in one step.
 *
 * Opens the approval questions and publishes all calls in one batch, then runs
 * them in order. Adjacent calls that change nothing run in parallel.
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
  const prepared = await Promise.all(
    calls.map(async (update, index): Promise<PreparedCall> => {
      if (index < MAX_CALLS) return prepareCall(update, context, signal);
      const call = failedCall(
        update.call,
        toolFailure("execution_failed", message),
      );
      return {
        call,
        detail: changedDetail(update.detail, {}),
        invocation: undefined,
      };
    }),
  );
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
  const prepared = await resumeCalls(calls, context, signal);
  openQuestions(prepared, context);
  const changed = prepared.filter(({ call }, index) => call !== calls[index]);
  if (changed.length > 0) yield changed;
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
 * Runs groups of calls one after the other, and the calls of a group in
 * parallel.
 */
async function* runPrepared(
  prepared: readonly PreparedCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly CallUpdate[]> {
  const runs: AsyncIterable<CallUpdate>[] = [];
  const step: StepState = { declined: false };
  let previous: Promise<unknown> = Promise.resolve();
  for (const group of parallelGroups(prepared)) {
    const slots = group.map((item) => ({
      item,
      start: previous,
      end: Promise.withResolvers<void>(),
    }));
    runs.push(...slots.map((slot) => runSlot(slot, step, context, signal)));
    previous = Promise.all([previous, ...slots.map(({ end }) => end.promise)]);
  }
  yield* mergeReady(runs);
}

/**
 * Splits calls into groups that may run in parallel: adjacent calls that change
 * nothing, or a single call that does.
 */
function parallelGroups(prepared: readonly PreparedCall[]): PreparedCall[][] {
  const groups: PreparedCall[][] = [];
  let readOnlyGroup: PreparedCall[] | undefined;
  for (const item of prepared) {
    const changesSomething = item.invocation?.confirmation !== undefined;
    if (readOnlyGroup && !changesSomething) {
      readOnlyGroup.push(item);
      continue;
    }
    const group = [item];
    groups.push(group);
    readOnlyGroup = changesSomething ? undefined : group;
  }
  return groups;
}

/** The state that the calls of one step share. */
interface StepState {
  /** Whether the user has declined a call of the step. */
  declined: boolean;
}

/** The place of a call in the order of its step. */
interface Slot {
  readonly item: PreparedCall;
  /** Resolves when the calls before have ended. */
  readonly start: Promise<unknown>;
  /** To be resolved when the call has ended. */
  readonly end: PromiseWithResolvers<void>;
}

/** Waits for the approval of a call and for its turn, then runs it. */
async function* runSlot(
  { item, start, end }: Slot,
  step: StepState,
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<CallUpdate> {
  try {
    if (!item.invocation) return;
    const { approved, answer } = yield* awaitApproval(item, context, signal);
    await start;
    if (answer?.selectedOptionId === OPTION_CANCEL) {
      step.declined = true;
      return;
    }
    signal.throwIfAborted();
    if (step.declined && !answer) {
      yield cancelledCall(item);
      return;
    }
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
    ? await confirmations.wait(toolCallId, signal)
    : // A call that was answered before a restart has the answer in the log.
      findConfirmation(context.task, toolCallId);
  for (;;) {
    const edited =
      answer && (await withEdit(approved, answer, context, signal));
    if (!edited) return { approved, answer };
    approved = edited;
    confirmations.open(toolCallId);
    yield approved;
    answer = await confirmations.wait(toolCallId, signal);
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
