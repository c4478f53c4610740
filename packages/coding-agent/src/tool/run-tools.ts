import { create, type JsonObject } from "@bufbuild/protobuf";
import type { PolicyEngine } from "@devtool/policy";
import {
  type EditRecord,
  openToolCalls,
  structFromJson,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import type { AgentEvent, Turn } from "@devtool/server/agent";
import { runNewCalls, runOpenCalls, type SchedulerContext } from "./scheduler.ts";
import type { EditState, Tool } from "./tool.ts";

/** A call of a tool that an agent wants to make. */
export interface WantedCall {
  readonly name: string;
  readonly args: JsonObject;
}

/** Dependencies of `runTools`. */
export interface RunToolsOptions {
  readonly tools: readonly Tool[];
  /** Decides which calls run, ask or are denied. */
  readonly policy: PolicyEngine;
  /** Makes the ids of tool calls: never the same twice. */
  readonly nextId: () => string;
  /** Finds out what became of an edit that had begun when the server stopped (`settleEdit`). Default: nobody knows. */
  readonly settle?: (edit: EditRecord) => EditState;
  /** Takes what the operator should know, in words. Default: nobody. */
  readonly onNotice?: (text: string) => void;
}

/**
 * Runs calls of tools as the coding agent does, for an agent of one's own: they are checked, put under the policy, asked about
 * and run, those that change nothing side by side. Before that it ends the calls that an earlier run of the turn left open, so an
 * agent that goes on after a restart begins with it and no calls. Results are in `turn.task` when it returns.
 */
export async function* runTools(
  turn: Turn,
  { tools, policy, nextId, settle = () => "unknown", onNotice = () => undefined }: RunToolsOptions,
  calls: readonly WantedCall[],
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  const context: SchedulerContext = {
    ...{ policy, nextId, settle, onNotice, confirmations: turn.confirmations },
    tools: new Map(tools.map((tool) => [tool.declaration.name, tool])),
    get task() {
      return turn.task;
    },
  };
  for await (const value of runOpenCalls(openToolCalls(turn.task), context, signal)) yield { case: "toolCalls", value };
  const made = calls.map(({ name, args }) => ({ call: newToolCall(nextId(), name, args) }));
  for await (const value of runNewCalls(made, context, signal)) yield { case: "toolCalls", value };
}

/** Creates a pending call of a tool. */
export function newToolCall(toolCallId: string, toolName: string, args: JsonObject): ToolCall {
  const inputParameters = structFromJson(args);
  return create(ToolCallSchema, { toolCallId, toolName, inputParameters, status: ToolCallStatus.PENDING });
}
