import { create } from "@bufbuild/protobuf";
import {
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  type ErrorDetails,
  findConfirmation,
  type Task,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStatus,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { confirmationOptions } from "./confirmation-options.ts";
import { type FailureType, toolFailure } from "./failure.ts";
import type { PolicyEngine } from "./policy-engine.ts";
import type { Tool, ToolInvocation } from "./tool.ts";

/** A call that was checked: it can run, or it has failed. */
export interface PreparedCall {
  /** The call as it is published next. */
  readonly call: ToolCall;
  /** What to run; undefined when the call has failed. */
  readonly invocation: ToolInvocation | undefined;
}

/** What preparing looks things up in. */
export interface PrepareContext {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly policy: PolicyEngine;
  /** The task, as its log has it now. */
  readonly task: Task;
}

/** Checks a call that the model made, and puts it under the policy: it fails, asks, or waits for its turn. */
export async function prepareCall(call: ToolCall, context: PrepareContext, signal: AbortSignal): Promise<PreparedCall> {
  try {
    const invocation = await toolFor(call, context.tools).prepare(call.inputParameters ?? {}, signal);
    return decideCall({ ...call, description: invocation.description }, invocation, context);
  } catch (reason) {
    signal.throwIfAborted();
    return { call: failedCall(call, prepareFailure(reason)), invocation: undefined };
  }
}

/** Checks a call again that an earlier process had published; what its user answered stands. */
export async function resumeCall(call: ToolCall, context: PrepareContext, signal: AbortSignal): Promise<PreparedCall> {
  try {
    const invocation = await toolFor(call, context.tools).prepare(call.inputParameters ?? {}, signal);
    return { call, invocation: modified(invocation, findConfirmation(context.task, call.toolCallId)) };
  } catch (reason) {
    signal.throwIfAborted();
    return { call: failedCall(call, prepareFailure(reason)), invocation: undefined };
  }
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
  throw new DevtoolError(`tool ${JSON.stringify(call.toolName)} does not exist: choose ${names}`, Code.NotFound);
}

function decideCall(call: ToolCall, invocation: ToolInvocation, { policy, task }: PrepareContext): PreparedCall {
  const details = invocation.confirmation;
  switch (policy.decide({ call, details, task })) {
    case "allow":
      return { call, invocation };
    case "ask":
      return { call: { ...call, confirmationRequest: requestFor(call, details) }, invocation };
    case "deny": {
      const message = `tool ${JSON.stringify(call.toolName)} is denied: the session may not change the machine`;
      return { call: failedCall(call, toolFailure("policy_violation", message)), invocation: undefined };
    }
  }
}

function requestFor(call: ToolCall, details: ConfirmationRequest["details"] | undefined): ConfirmationRequest {
  return create(ConfirmationRequestSchema, {
    options: confirmationOptions(call, details),
    ...(details && { details }),
  });
}

function prepareFailure(reason: unknown): ErrorDetails {
  const error = DevtoolError.from(reason);
  return toolFailure(PREPARE_FAILURES.get(error.code) ?? "execution_failed", error.message);
}

const PREPARE_FAILURES: ReadonlyMap<Code, FailureType> = new Map([
  [Code.InvalidArgument, "invalid_tool_params"],
  [Code.NotFound, "tool_not_registered"],
  [Code.PermissionDenied, "policy_violation"],
]);
