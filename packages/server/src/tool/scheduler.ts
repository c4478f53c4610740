import {
  findConfirmation,
  isAwaitingApproval,
  OPTION_CANCEL,
  type Task,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStatus,
} from "@devtool/schema";
import { DevtoolError } from "../errors.ts";
import { mergeReady } from "../stream/merge.ts";
import type { Confirmations } from "./confirmations.ts";
import { toolFailure } from "./failure.ts";
import type { PolicyEngine } from "./policy-engine.ts";
import { failedCall, modified, type PreparedCall, prepareCall, resumeCall } from "./prepared-call.ts";
import type { Tool, ToolEvent, ToolInvocation } from "./tool.ts";

/** What a scheduler works with. */
export interface SchedulerContext {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly policy: PolicyEngine;
  readonly confirmations: Confirmations;
  /** The task, as its log has it now. */
  readonly task: Task;
}

/**
 * Runs the calls that a model made in one step. Publishes all of them first, together, the questions of those that ask
 * opened before; then runs them in order, those that change nothing side by side with their neighbours of that kind.
 * Yields calls in their new form; the caller must have made them durable before it comes back for more.
 */
export async function* runNewCalls(
  calls: readonly ToolCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly ToolCall[]> {
  const prepared = await Promise.all(calls.map((call) => prepareCall(call, context, signal)));
  for (const { call } of prepared) if (isAwaitingApproval(call)) context.confirmations.open(call.toolCallId);
  yield prepared.flatMap(({ call }, index) => [...pendingFirst(call, calls[index]), call]);
  yield* runPrepared(prepared, context, signal);
}

/** Takes up calls that were published before a restart: those that ask still ask, those that were approved run. */
export async function* runOpenCalls(
  calls: readonly ToolCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly ToolCall[]> {
  for (const call of calls) if (isAwaitingApproval(call)) context.confirmations.open(call.toolCallId);
  const prepared = await Promise.all(calls.map((call) => resumeCall(call, context, signal)));
  const failed = prepared.filter(({ invocation }) => !invocation).map(({ call }) => call);
  if (failed.length > 0) yield failed;
  yield* runPrepared(prepared, context, signal);
}

/** A call that fails at once is seen PENDING before. */
function pendingFirst(call: ToolCall, original: ToolCall | undefined): ToolCall[] {
  return call.status === ToolCallStatus.FAILED && original ? [original] : [];
}

async function* runPrepared(
  prepared: readonly PreparedCall[],
  context: SchedulerContext,
  signal: AbortSignal,
): AsyncIterable<readonly ToolCall[]> {
  const runs: AsyncIterable<ToolCall>[] = [];
  let before: Promise<unknown> = Promise.resolve();
  for (const group of parallelGroups(prepared)) {
    const ends = group.map(() => Promise.withResolvers<void>());
    const after = before;
    runs.push(...group.map((item, index) => runInTurn(item, { context, after, end: ends[index] }, signal)));
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

/** When a call may begin, and whom it tells that it has ended. */
interface Slot {
  readonly context: SchedulerContext;
  readonly after: Promise<unknown>;
  readonly end: PromiseWithResolvers<void> | undefined;
}

async function* runInTurn(
  { call, invocation }: PreparedCall,
  slot: Slot,
  signal: AbortSignal,
): AsyncIterable<ToolCall> {
  try {
    if (!invocation) return;
    const answer = await answerTo(call, slot.context, signal);
    if (answer?.selectedOptionId === OPTION_CANCEL) return;
    await slot.after;
    signal.throwIfAborted();
    yield* runCall(call, modified(invocation, answer), signal);
  } finally {
    slot.end?.resolve();
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

async function* runCall(asked: ToolCall, invocation: ToolInvocation, signal: AbortSignal): AsyncIterable<ToolCall> {
  const { confirmationRequest: _answered, ...rest } = asked;
  const call: ToolCall = { ...rest, status: ToolCallStatus.EXECUTING, inputParameters: invocation.args };
  yield call;
  try {
    for await (const event of invocation.execute(signal)) yield updatedCall(call, event);
  } catch (reason) {
    signal.throwIfAborted();
    yield failedCall(call, toolFailure("execution_failed", DevtoolError.from(reason).message));
  }
}

function updatedCall(call: ToolCall, event: ToolEvent): ToolCall {
  if (event.case === "live") return { ...call, liveContent: event.value };
  const status = event.value.case === "output" ? ToolCallStatus.SUCCEEDED : ToolCallStatus.FAILED;
  return { ...call, status, result: event.value };
}
