import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import type {
  PolicyDecision,
  PolicyEngine,
  PolicyRequest,
} from "@devtool/policy";
import {
  answersTo,
  ConfirmationRequestSchema,
  type EditRecord,
  type ErrorDetails,
  type Task,
  type ToolCall,
  type ToolCallConfirmation,
  type ToolCallDetail,
  ToolCallStatus,
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
import type { EditState, PendingEdits, Tool, ToolInvocation } from "./tool.ts";

/** A validated call. It can run, needs approval, or has failed. */
export interface PreparedCall {
  /** The call in the form in which it is published next. */
  readonly call: ToolCall;
  readonly detail: ToolCallDetail;
  /** The invocation to run. Undefined when the call has failed. */
  readonly invocation: ToolInvocation | undefined;
  /**
   * A description of the calls that a saved approval would cover. Undefined
   * when the approval cannot be saved.
   */
  readonly saves?: string | undefined;
}

/** A call as an agent requested it. */
export interface NewCall extends CallUpdate {
  /** Why the call is refused, whatever its tool says. Default: it is not. */
  readonly problem?: string | undefined;
}

/** Dependencies of what validates calls. */
export interface PrepareContext {
  /** The tools by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly policy: PolicyEngine;
  /** The current state of the task. */
  readonly task: Task;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
  /**
   * Returns the state of an edit that was in progress when the server stopped.
   */
  settle(edit: EditRecord): EditState;
}

/**
 * Validates a call that a model requested, and applies the policy: the call may
 * run, needs approval, or fails. It builds on `pending`, the edits of the calls
 * before it.
 */
export async function prepareCall(
  { call, problem, ...update }: NewCall,
  pending: PendingEdits,
  context: PrepareContext,
  signal: AbortSignal,
): Promise<PreparedCall> {
  const detail = changedDetail(update.detail, {});
  try {
    if (problem !== undefined) {
      throw new DevtoolError(problem, Code.InvalidArgument);
    }
    const invocation = await findTool(call, context).prepare(
      call.inputParameters ?? {},
      signal,
      pending,
    );
    const described = { ...call, description: oneLine(invocation.description) };
    const decision = await context.policy.decide(
      policyRequest(described, invocation, context),
      signal,
    );
    return applyDecision(described, detail, invocation, decision);
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
 * Validates a published call again. Returns what it would do now: as the model
 * proposed it, then with each content that the user sent in an answer.
 *
 * Throws a `DevtoolError` when it cannot be made any more.
 */
export async function prepareVersions(
  call: ToolCall,
  pending: PendingEdits,
  context: Pick<PrepareContext, "tools" | "task">,
  signal: AbortSignal,
): Promise<readonly [ToolInvocation, ...ToolInvocation[]]> {
  const proposed = await findTool(call, context).prepare(
    call.inputParameters ?? {},
    signal,
    pending,
  );
  const edited = answersTo(context.task, call.toolCallId).map((answer) =>
    withAnswer(proposed, answer),
  );
  return [proposed, ...edited];
}

/**
 * Returns whether an invocation has the effect that was decided on. No other
 * invocation may run (S13).
 */
export function hasSameEffect(
  { call, detail }: Pick<PreparedCall, "call" | "detail">,
  invocation: ToolInvocation,
): boolean {
  return Buffer.compare(callDigest(call, invocation), detail.digest) === 0;
}

/**
 * Returns the call marked FAILED, because its effect no longer matches the one
 * that was decided on.
 */
export function outdatedCall({ call, detail }: PreparedCall): PreparedCall {
  const message =
    "what the call would do changed after it was decided: it did not run; make it again";
  return {
    call: failedCall(call, toolFailure("approval_outdated", message)),
    detail,
    invocation: undefined,
  };
}

/**
 * Returns the call marked CANCELLED: the user was not asked about it, and it
 * was to follow one that they declined.
 */
export function cancelledCall({ call, detail }: PreparedCall): PreparedCall {
  return {
    call: { ...call, status: ToolCallStatus.CANCELLED },
    detail,
    invocation: undefined,
  };
}

/** Creates the request to the policy for a call. */
export function policyRequest(
  call: ToolCall,
  invocation: ToolInvocation,
  { tools, task }: Pick<PrepareContext, "tools" | "task">,
): PolicyRequest {
  const {
    confirmation: details,
    changes,
    confinement,
    facts = tools.get(call.toolName)?.facts,
  } = invocation;
  return { call, facts, details, changes, confinement, task };
}

/**
 * Returns the call with a confirmation request for the effect of an invocation.
 */
export function askForApproval(
  prepared: PreparedCall,
  invocation: ToolInvocation,
): PreparedCall {
  const { call, detail, saves } = prepared;
  const details = invocation.confirmation;
  const options = confirmationOptions(call, details, saves);
  const confirmationRequest = create(
    ConfirmationRequestSchema,
    defined({ options, details }),
  );
  return {
    call: { ...call, confirmationRequest },
    detail: withEffect(call, detail, invocation),
    invocation,
    saves,
  };
}

/**
 * Returns the invocation with the content from the user's answer in place of
 * the proposed content (TOOL-6).
 */
export function withAnswer(
  invocation: ToolInvocation,
  answer: ToolCallConfirmation | undefined,
): ToolInvocation {
  const details = answer?.modifiedDetails;
  if (details?.case !== "fileDetails" || !invocation.withContent) {
    return invocation;
  }
  return invocation.withContent(details.value.newContent);
}

/** Returns the call marked FAILED, without its confirmation request. */
export function failedCall(
  { confirmationRequest: _closed, ...call }: ToolCall,
  value: ErrorDetails,
): ToolCall {
  return {
    ...call,
    status: ToolCallStatus.FAILED,
    result: { case: "error", value },
  };
}

/**
 * Returns the failure of a call for its client. Sends the operator a notice
 * about an internal error.
 */
export function callError(
  reason: unknown,
  { toolCallId, toolName }: ToolCall,
  { task, onNotice }: Pick<PrepareContext, "onNotice" | "task">,
): DevtoolError {
  return clientError(
    reason,
    "a tool call",
    { task: task.id, call: toolCallId, tool: toolName },
    onNotice,
  );
}

/**
 * Returns the tool of a call. Throws `Code.PermissionDenied` when the session
 * does not allow it, and `Code.NotFound` when it does not exist, with the names
 * of all tools.
 */
export function findTool(
  call: ToolCall,
  { tools, task }: Pick<PrepareContext, "tools" | "task">,
): Tool {
  const tool = tools.get(call.toolName);
  if (tool) return tool;
  const { allowedTools = [] } = task.sessionSettings ?? {};
  const isForbidden =
    allowedTools.length > 0 && !allowedTools.includes(call.toolName);
  const remedy = tools.size > 0 ? `choose ${[...tools.keys()].join(", ")}` : "";
  throw new DevtoolError(
    `tool ${JSON.stringify(call.toolName)} ${isForbidden ? "is not among the allowed_tools of this session" : "does not exist"}`,
    isForbidden ? Code.PermissionDenied : Code.NotFound,
    { remedy },
  );
}

/** Returns a call as the policy decides about its effect. */
export function applyDecision(
  call: ToolCall,
  before: ToolCallDetail,
  invocation: ToolInvocation,
  { decision, rule, reason, saves }: PolicyDecision,
): PreparedCall {
  const detail = changedDetail(withEffect(call, before, invocation), {
    rule,
    reason,
  });
  switch (decision) {
    case "allow":
      return { call, detail, invocation };
    case "ask":
      return askForApproval({ call, detail, invocation, saves }, invocation);
    case "deny": {
      const message = `tool ${JSON.stringify(call.toolName)} is denied: ${reason}`;
      return {
        call: failedCall(call, toolFailure("policy_violation", message)),
        detail,
        invocation: undefined,
      };
    }
    default:
      return decision satisfies never;
  }
}

/**
 * Returns the detail of a call with the effect of an invocation, to which an
 * approval is bound.
 */
function withEffect(
  call: ToolCall,
  detail: ToolCallDetail,
  invocation: ToolInvocation,
): ToolCallDetail {
  const digest = callDigest(call, invocation);
  const withoutSandbox = invocation.confinement === "none";
  return changedDetail(
    detail,
    defined({ digest, withoutSandbox, edit: invocation.edit }),
  );
}

/**
 * The failure types by error code, for errors before a call runs. Other codes
 * are `execution_failed`.
 */
const PREPARE_FAILURES: ReadonlyMap<Code, FailureType> = new Map([
  [Code.InvalidArgument, "invalid_tool_params"],
  [Code.NotFound, "invalid_tool_params"],
  [Code.PermissionDenied, "policy_violation"],
]);

/** Returns the call marked FAILED, because it could not be prepared. */
export function prepareFailure(
  call: ToolCall,
  reason: unknown,
  context: PrepareContext,
): ToolCall {
  const { code, message } = callError(reason, call, context);
  const isUnknown = code === Code.NotFound && !context.tools.has(call.toolName);
  const type = isUnknown
    ? "tool_not_registered"
    : (PREPARE_FAILURES.get(code) ?? "execution_failed");
  return failedCall(call, toolFailure(type, message));
}
