import { create, type JsonObject } from "@bufbuild/protobuf";
import type { PolicyEngine } from "@devtool/policy";
import {
  type EditRecord,
  openToolCalls,
  structFromJson,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import type { AgentEvent, ArgumentsEdit, Turn } from "@devtool/server/agent";
import { checkEditedArguments } from "./edited-call.ts";
import { findUnkeptValue } from "./kept-values.ts";
import type { NewCall } from "./prepared-call.ts";
import {
  runNewCalls,
  runOpenCalls,
  type SchedulerContext,
} from "./scheduler.ts";
import type { EditState, Tool } from "./tool.ts";

/** A tool call that an agent requests. */
export interface WantedCall {
  readonly name: string;
  readonly args: JsonObject;
}

/** Dependencies of `runTools`. */
export interface RunToolsOptions {
  readonly tools: readonly Tool[];
  /** Decides which calls run, need approval or are denied. */
  readonly policy: PolicyEngine;
  /** Creates a unique id for a tool call. */
  readonly nextId: () => string;
  /**
   * Returns the state of an edit that was in progress when the server stopped
   * (`settleEdit`).
   *
   * Default: `unknown`, so such a call fails.
   */
  readonly settle?: (edit: EditRecord) => EditState;
  /**
   * Receives notices for the operator, as plain text, about calls that fail
   * with an internal error. Default: ignores them.
   */
  readonly onNotice?: (text: string) => void;
}

/**
 * Runs tool calls as the coding agent does, for an agent of your own.
 *
 * Validates the calls, applies the policy, asks for approval and runs them.
 * Edits, and calls that the user is asked about, keep their order; adjacent
 * others run side by side. Of one list of calls, the first 128 run; the others
 * fail and say so.
 *
 * First finishes the calls that an interrupted run of the turn left open, so an
 * agent that resumes after a restart begins with `runTools` and no calls. When
 * it returns, `turn.task` has the results.
 */
export async function* runTools(
  turn: Turn,
  options: RunToolsOptions,
  calls: readonly WantedCall[],
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  const {
    tools,
    policy,
    nextId,
    settle = () => "unknown",
    onNotice = () => undefined,
  } = options;
  const context: SchedulerContext = {
    policy,
    nextId,
    settle,
    onNotice,
    confirmations: turn.confirmations,
    tools: new Map(tools.map((tool) => [tool.declaration.name, tool])),
    get task() {
      return turn.task;
    },
  };
  for await (const value of runOpenCalls(
    openToolCalls(turn.task),
    context,
    signal,
  )) {
    yield { case: "toolCalls", value };
  }
  const requested = calls.map((call) => newToolCall(nextId(), call));
  for await (const value of runNewCalls(requested, context, signal)) {
    yield { case: "toolCalls", value };
  }
}

/**
 * Checks arguments that a user wrote in place of those of a call of `runTools`,
 * for `AgentExecutor.checkArguments`: by the tool and by the policy.
 *
 * Throws a `DevtoolError` that names the argument or the rule, for arguments
 * that cannot be used.
 */
export async function checkToolArguments(
  edit: ArgumentsEdit,
  {
    tools,
    policy,
    settle = () => "unknown",
    onNotice = () => undefined,
  }: RunToolsOptions,
  signal: AbortSignal,
): Promise<void> {
  const byName = new Map(tools.map((tool) => [tool.declaration.name, tool]));
  await checkEditedArguments(
    edit,
    { tools: byName, policy, settle, onNotice, task: edit.task },
    signal,
  );
}

/**
 * Creates a pending tool call. One whose arguments hold a value that would not
 * reach the tool as it was sent is refused.
 */
export function newToolCall(id: string, { name, args }: WantedCall): NewCall {
  return {
    call: create(ToolCallSchema, {
      toolCallId: id,
      toolName: name.toWellFormed(),
      inputParameters: structFromJson(args),
      status: ToolCallStatus.PENDING,
    }),
    problem: findUnkeptValue(args),
  };
}
