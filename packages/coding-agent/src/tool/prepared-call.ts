import { create } from "@bufbuild/protobuf";
import type { PolicyDecision, PolicyEngine, PolicyRequest } from "@devtool/policy";
import {
  answersTo,
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  type EditRecord,
  type ErrorDetails,
  findToolCallDetail,
  oneLine,
  type Task,
  type ToolCall,
  type ToolCallConfirmation,
  type ToolCallDetail,
  ToolCallStatus,
  ToolOutputSchema,
} from "@devtool/schema";
import {
  type CallUpdate,
  Code,
  changedDetail,
  DevtoolError,
  type FailureType,
  toolFailure,
} from "@devtool/server/agent";
import { clientError } from "../client-error.ts";
import { callDigest } from "./call-digest.ts";
import { confirmationOptions } from "./confirmation-options.ts";
import type { EditState, Tool, ToolInvocation } from "./tool.ts";

/** A call that was checked: it can run, or it has failed. */
export interface PreparedCall {
  /** The call as it is published next. */
  readonly call: ToolCall;
  readonly detail: ToolCallDetail;
  /** What to run; undefined when the call has failed. */
  readonly invocation: ToolInvocation | undefined;
  /** What an approval for good would cover; left out when there can be none. */
  readonly saves?: string;
}

/** What preparing looks things up in. */
export interface PrepareContext {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly policy: PolicyEngine;
  /** The task, as its log has it now. */
  readonly task: Task;
  /** Takes what the operator should know, in words. */
  readonly onNotice: (text: string) => void;
  /** Finds out what became of an edit that had begun when the server stopped. */
  settle(edit: EditRecord): EditState;
}

/** Checks a call that the model made, and puts it under the policy: it fails, asks, or waits for its turn. */
export async function prepareCall(
  { call, detail }: CallUpdate,
  context: PrepareContext,
  signal: AbortSignal,
): Promise<PreparedCall> {
  const known = changedDetail(detail, {});
  try {
    const tool = toolFor(call, context.tools);
    const invocation = await tool.prepare(call.inputParameters ?? {}, signal);
    const described = { ...call, description: oneLine(invocation.description) };
    const decision = await context.policy.decide(policyRequest(described, invocation, context), signal);
    return decidedCall({ call: described, detail: known, invocation }, invocation, decision);
  } catch (reason) {
    signal.throwIfAborted();
    return { call: failedCall(call, prepareFailure(reason, call, context)), detail: known, invocation: undefined };
  }
}

/**
 * Checks a call again that an earlier process had published. It runs only as it was shown: one that still asks is put
 * anew when it would now do something else, and one that was approved fails.
 */
export async function resumeCall(call: ToolCall, context: PrepareContext, signal: AbortSignal): Promise<PreparedCall> {
  const detail = changedDetail(findToolCallDetail(context.task, call.toolCallId), {});
  try {
    const settled = settledCall({ call, detail, invocation: undefined }, context);
    if (settled) return settled;
    const proposed = await toolFor(call, context.tools).prepare(call.inputParameters ?? {}, signal);
    const prepared = { call, detail, invocation: proposed };
    const decided = proposalsOf(proposed, call, context.task).findLast((invocation) => isDecided(prepared, invocation));
    if (decided) return { call, detail, invocation: decided };
    return call.confirmationRequest ? askedCall(prepared, proposed) : outdatedCall(prepared);
  } catch (reason) {
    signal.throwIfAborted();
    return { call: failedCall(call, prepareFailure(reason, call, context)), detail, invocation: undefined };
  }
}

/** An edit that had begun: done, or lost for good. Undefined for a call that has not begun, and for one that may run. */
function settledCall(prepared: PreparedCall, { settle }: PrepareContext): PreparedCall | undefined {
  const { call, detail } = prepared;
  if (call.status !== ToolCallStatus.EXECUTING || !detail.edit) return undefined;
  switch (settle(detail.edit)) {
    case "not begun":
      return undefined;
    case "done": {
      const text = `The edit of ${detail.edit.path} was made before the server stopped.`;
      const value = create(ToolOutputSchema, { result: { case: "text", value: text } });
      return { ...prepared, call: { ...call, status: ToolCallStatus.SUCCEEDED, result: { case: "output", value } } };
    }
    case "unknown": {
      const message = `the server stopped while the call ran, and ${detail.edit.path} has changed since: look at it`;
      return { ...prepared, call: failedCall(call, toolFailure("interrupted", message)) };
    }
  }
}

/** What was put to the user, in order: what the tool proposed, then what they made of it themselves. */
function proposalsOf(proposed: ToolInvocation, call: ToolCall, task: Task): ToolInvocation[] {
  return [proposed, ...answersTo(task, call.toolCallId).map((change) => modified(proposed, change))];
}

/** Tells whether an invocation is what was decided on: only that may run (S13). */
export function isDecided({ call, detail }: PreparedCall, invocation: ToolInvocation): boolean {
  return Buffer.compare(callDigest(call, invocation), detail.digest) === 0;
}

/** The call, FAILED, since it would do something else than what was decided. */
export function outdatedCall({ call, detail }: PreparedCall): PreparedCall {
  const message = "what the call would do changed after it was decided: it did not run; make it again";
  return { call: failedCall(call, toolFailure("approval_outdated", message)), detail, invocation: undefined };
}

/** What a policy is asked about a call. */
export function policyRequest(
  call: ToolCall,
  invocation: ToolInvocation,
  { tools, task }: Pick<PrepareContext, "tools" | "task">,
): PolicyRequest {
  const { confirmation: details, changes, confinement, facts = tools.get(call.toolName)?.facts } = invocation;
  return { call, facts, details, changes, confinement, task };
}

/** The call, put to the user as it would run. */
export function askedCall({ call, detail, saves }: PreparedCall, invocation: ToolInvocation): PreparedCall {
  return {
    ...(saves !== undefined && { saves }),
    call: { ...call, confirmationRequest: requestFor(call, invocation.confirmation, saves) },
    detail: changedDetail(detail, {
      digest: callDigest(call, invocation),
      withoutSandbox: invocation.confinement === "none",
      ...(invocation.edit && { edit: invocation.edit }),
    }),
    invocation,
  };
}

/** The invocation with the content that the user gave in place of the proposed one (TOOL-6). */
export function modified(invocation: ToolInvocation, confirmation: ToolCallConfirmation | undefined): ToolInvocation {
  const details = confirmation?.modifiedDetails;
  if (details?.case !== "fileDetails" || !invocation.withContent) return invocation;
  return invocation.withContent(details.value.newContent);
}

/** The call, FAILED. */
export function failedCall({ confirmationRequest: _closed, ...call }: ToolCall, value: ErrorDetails): ToolCall {
  return { ...call, status: ToolCallStatus.FAILED, result: { case: "error", value } };
}

function toolFor(call: ToolCall, tools: ReadonlyMap<string, Tool>): Tool {
  const tool = tools.get(call.toolName);
  if (tool) return tool;
  const names = [...tools.keys()].join(", ");
  throw new DevtoolError(`tool ${JSON.stringify(call.toolName)} does not exist`, Code.NotFound, {
    remedy: `choose ${names}`,
  });
}

function decidedCall(
  { call, detail }: PreparedCall,
  invocation: ToolInvocation,
  { decision, rule, reason, saves }: PolicyDecision,
): PreparedCall {
  const decided = changedDetail(detail, {
    rule,
    reason,
    digest: callDigest(call, invocation),
    withoutSandbox: invocation.confinement === "none",
    ...(invocation.edit && { edit: invocation.edit }),
  });
  switch (decision) {
    case "allow":
      return { call, detail: decided, invocation };
    case "ask":
      return askedCall({ call, detail: decided, invocation, ...(saves !== undefined && { saves }) }, invocation);
    case "deny": {
      const message = `tool ${JSON.stringify(call.toolName)} is denied: ${reason}`;
      return {
        call: failedCall(call, toolFailure("policy_violation", message)),
        detail: decided,
        invocation: undefined,
      };
    }
    default:
      return decision satisfies never;
  }
}

function requestFor(
  call: ToolCall,
  details: ConfirmationRequest["details"] | undefined,
  saves: string | undefined,
): ConfirmationRequest {
  return create(ConfirmationRequestSchema, {
    options: confirmationOptions({ call, details, saves }),
    ...(details && { details }),
  });
}

function prepareFailure(reason: unknown, call: ToolCall, context: FaultContext): ErrorDetails {
  const error = callError(reason, call, context);
  return toolFailure(PREPARE_FAILURES.get(error.code) ?? "execution_failed", error.message);
}

/** The operator, and the task whose calls fail. */
type FaultContext = Pick<PrepareContext, "onNotice" | "task">;

/** The failure of a call as its client sees it; the operator learns of one that says no more than that it is internal. */
export function callError(
  reason: unknown,
  { toolCallId, toolName }: ToolCall,
  { task, onNotice }: FaultContext,
): DevtoolError {
  return clientError(reason, "a tool call", { task: task.id, call: toolCallId, tool: toolName }, onNotice);
}

const PREPARE_FAILURES: ReadonlyMap<Code, FailureType> = new Map([
  [Code.InvalidArgument, "invalid_tool_params"],
  [Code.NotFound, "tool_not_registered"],
  [Code.PermissionDenied, "policy_violation"],
]);
