import {
  findConfirmation,
  isAwaitingApproval,
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import { type CallUpdate, changedDetail, mergeReady, toolFailure } from "@devtool/server/agent";
import { translateError } from "../client-error.ts";
import { callDigest } from "./call-digest.ts";
import {
  askedCall,
  failedCall,
  isDecided,
  modified,
  outdatedCall,
  type PrepareContext,
  type PreparedCall,
  policyRequest,
  prepareCall,
  resumeCall,
} from "./prepared-call.ts";
import { type AskingContext, runCall } from "./running-call.ts";
import type { ToolInvocation } from "./tool.ts";

/** What a scheduler works with. */
export interface SchedulerContext extends PrepareContext, AskingContext {}

/** The number of calls of one step that run; the rest fail. */
const MAX_CALLS = 128;

/**
 * Runs the calls that a model made in one step. Publishes all of them first, together, the questions of those that ask
 * opened before; then runs them in order, those that change nothing side by side with their neighbours of that kind.
 * Yields calls in their new form; the caller must have recorded them before it comes back for more, and those that run
 * must be durable.
 */
export async function* runNewCalls(
  calls: readonly CallUpdate[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly CallUpdate[]> {
  const prepared = await Promise.all([
    ...calls.slice(0, MAX_CALLS).map((call) => prepareCall(call, context, signal)),
    ...calls.slice(MAX_CALLS).map((call) => excessCall(call, calls.length)),
  ]);
  openQuestions(prepared, context);
  yield prepared.flatMap((item, index) => [...pendingFirst(item, calls[index]), item]);
  yield* runPrepared(prepared, context, signal);
}

/** Takes up calls that were published before a restart: those that ask still ask, those that were approved run. */
export async function* runOpenCalls(
  calls: readonly ToolCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly CallUpdate[]> {
  for (const call of calls) if (isAwaitingApproval(call)) context.confirmations.open(call.toolCallId);
  const prepared = await Promise.all(calls.map((call) => resumeCall(call, context, signal)));
  openQuestions(prepared, context);
  const changed = prepared.filter(({ call }, index) => call !== calls[index]);
  if (changed.length > 0) yield changed;
  yield* runPrepared(prepared, context, signal);
}

function excessCall({ call, detail }: CallUpdate, count: number): PreparedCall {
  const message = `the step made ${count} calls: only ${MAX_CALLS} of them run; make this one again in another step`;
  const failed = failedCall(call, toolFailure("execution_failed", message));
  return { call: failed, detail: changedDetail(detail, {}), invocation: undefined };
}

function openQuestions(prepared: readonly PreparedCall[], { confirmations }: SchedulerContext): void {
  for (const { call } of prepared) if (isAwaitingApproval(call)) confirmations.open(call.toolCallId);
}

/** A call that fails at once is seen PENDING before: it was checked, and nobody let it run. */
function pendingFirst({ call }: PreparedCall, original: CallUpdate | undefined): CallUpdate[] {
  if (call.status !== ToolCallStatus.FAILED || !original) return [];
  return [{ call: original.call, detail: changedDetail(original.detail, { stage: ToolCallStage.VALIDATING }) }];
}

async function* runPrepared(
  prepared: readonly PreparedCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly CallUpdate[]> {
  const runs: AsyncIterable<CallUpdate>[] = [];
  const step: Step = { declined: false };
  let before: Promise<unknown> = Promise.resolve();
  for (const group of parallelGroups(prepared)) {
    const ends = group.map(() => Promise.withResolvers<void>());
    const after = before;
    runs.push(...group.map((item, index) => runInTurn(item, { context, step, after, end: ends[index] }, signal)));
    before = Promise.all([after, ...ends.map(({ promise }) => promise)]);
  }
  yield* mergeReady(runs);
}

/** Splits calls into runs of neighbours that may go side by side; one that changes something goes alone. */
function parallelGroups(prepared: readonly PreparedCall[]): PreparedCall[][] {
  const groups: PreparedCall[][] = [];
  let open: PreparedCall[] | undefined;
  for (const item of prepared) {
    const alone = item.invocation?.confirmation !== undefined;
    if (open && !alone) {
      open.push(item);
      continue;
    }
    const group = [item];
    groups.push(group);
    open = alone ? undefined : group;
  }
  return groups;
}

/** What the calls of one step share: whether the user declined one that came before those that still wait. */
interface Step {
  declined: boolean;
}

/** When a call may begin, and whom it tells that it has ended. */
interface Slot {
  readonly context: SchedulerContext;
  readonly step: Step;
  readonly after: Promise<unknown>;
  readonly end: PromiseWithResolvers<void> | undefined;
}

async function* runInTurn(prepared: PreparedCall, slot: Slot, signal: AbortSignal): AsyncIterable<CallUpdate> {
  const { context, step } = slot;
  try {
    if (!prepared.invocation) return;
    const { item, answer } = yield* approve(prepared, context, signal);
    await slot.after;
    if (answer?.selectedOptionId === OPTION_CANCEL) {
      step.declined = true;
      return;
    }
    signal.throwIfAborted();
    // What nobody asked the user about was only to follow what they have now declined.
    if (step.declined && !answer) return yield cancelled(prepared);
    yield* runApproved(item, answer, { context, signal });
  } finally {
    slot.end?.resolve();
  }
}

/** A call that may begin as soon as it is its turn, unless the answer declines it. */
interface Approval {
  readonly item: PreparedCall;
  /** What the user answered; undefined when nobody asked. */
  readonly answer: ToolCallConfirmation | undefined;
}

/** Waits for the answer to a call that asks, and puts it anew as often as the answer changes what it proposes. */
async function* approve(
  prepared: PreparedCall,
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncGenerator<CallUpdate, Approval> {
  let item = prepared;
  let answer = await answerTo(item.call, context, signal);
  while (item.invocation && answer?.selectedOptionId === OPTION_MODIFY_WITH_EDITOR) {
    item = askedCall(item, modified(item.invocation, answer));
    context.confirmations.open(item.call.toolCallId);
    yield item;
    answer = await context.confirmations.wait(item.call.toolCallId, signal);
  }
  return { item, answer };
}

/** With what calls run. */
interface Running {
  readonly context: SchedulerContext;
  readonly signal: AbortSignal;
}

/** Runs what was decided on, or what the user put in its place with their approval; nothing else. */
async function* runApproved(
  item: PreparedCall,
  answer: ToolCallConfirmation | undefined,
  running: Running,
): AsyncIterable<CallUpdate> {
  if (!item.invocation) return;
  if (!isDecided(item, item.invocation)) return yield outdatedCall(item);
  if (answer?.selectedOptionId === OPTION_PROCEED_ALWAYS_AND_SAVE)
    await saveApproval(item.call, item.invocation, running);
  const invocation = modified(item.invocation, answer);
  if (invocation === item.invocation) return yield* runCall(item, invocation, running);
  const detail = changedDetail(item.detail, {
    digest: callDigest(item.call, invocation),
    ...(invocation.edit && { edit: invocation.edit }),
  });
  yield* runCall({ ...item, detail }, invocation, running);
}

async function saveApproval(call: ToolCall, invocation: ToolInvocation, { context, signal }: Running): Promise<void> {
  try {
    await context.policy.save?.(policyRequest(call, invocation, context), signal);
  } catch (reason) {
    throw translateError(reason);
  }
}

/** Waits for the answer to a call that asks; one that was answered before a restart has it in the log. */
async function answerTo(
  call: ToolCall,
  { confirmations, task }: SchedulerContext,
  signal: AbortSignal,
): Promise<ToolCallConfirmation | undefined> {
  return isAwaitingApproval(call)
    ? confirmations.wait(call.toolCallId, signal)
    : findConfirmation(task, call.toolCallId);
}

function cancelled({ call, detail }: PreparedCall): CallUpdate {
  return { call: { ...call, status: ToolCallStatus.CANCELLED }, detail };
}
