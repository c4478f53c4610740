import { create } from "@bufbuild/protobuf";
import { openToolCalls, structFromJson, type ToolCall, ToolCallSchema, ToolCallStatus } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import type { PolicyEngine } from "../tool/policy-engine.ts";
import { runNewCalls, runOpenCalls, type SchedulerContext } from "../tool/scheduler.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import type { AgentEvent, AgentExecutor, Turn } from "./agent-executor.ts";
import type { Model, ModelEvent } from "./model.ts";

/** What a loop is made of. */
export interface AgentLoopOptions {
  readonly model: Model;
  /** Opens the tools for one turn. */
  readonly openTools: () => ToolSet;
  readonly policy: PolicyEngine;
  /** The directory the agent works in: an absolute path. */
  readonly workspacePath: string;
  /** Makes the ids of tool calls: never the same twice. */
  readonly nextId: () => string;
  /** So many steps a turn may take; the default is 200. */
  readonly maxSteps?: number;
}

/**
 * Lets a model think and runs the tools it calls, step by step, until a step calls none. What there is to do is read off
 * the task, so a turn that a restart cut goes on where its log stands.
 */
export function createAgentLoop(options: AgentLoopOptions): AgentExecutor {
  return {
    model: options.model.name,
    execute: (turn, signal) => execute(options, turn, signal),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function* execute(options: AgentLoopOptions, turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent> {
  const { openTools, policy, maxSteps = 200 } = options;
  using set = openTools();
  const context: SchedulerContext = {
    tools: set.tools,
    policy,
    confirmations: turn.confirmations,
    get task() {
      return turn.task;
    },
  };
  yield* asEvents(runOpenCalls(openToolCalls(turn.task), context, signal));
  for (let step = 0; step < maxSteps; step++) {
    const calls: ToolCall[] = [];
    for await (const event of think(options, turn, { set, signal })) {
      if (event.case === "toolCall") calls.push(newCall(options, event));
      else yield event;
    }
    if (calls.length === 0) return;
    yield* asEvents(runNewCalls(calls, context, signal));
  }
  throw new DevtoolError(`the turn took ${maxSteps} steps: limit is ${maxSteps}`, Code.ResourceExhausted);
}

function think(
  { model, workspacePath }: AgentLoopOptions,
  { task }: Turn,
  { set, signal }: { readonly set: ToolSet; readonly signal: AbortSignal },
): AsyncIterable<ModelEvent> {
  const tools = [...set.tools.values()].map(({ declaration }) => declaration);
  return model.generate({ history: task.history, tools, workspacePath }, signal);
}

function newCall({ nextId }: AgentLoopOptions, { value }: Extract<ModelEvent, { case: "toolCall" }>): ToolCall {
  return create(ToolCallSchema, {
    toolCallId: nextId(),
    status: ToolCallStatus.PENDING,
    toolName: value.name,
    inputParameters: structFromJson(value.args),
  });
}

async function* asEvents(updates: AsyncIterable<readonly ToolCall[]>): AsyncIterable<AgentEvent> {
  for await (const value of updates) yield { case: "toolCalls", value };
}
