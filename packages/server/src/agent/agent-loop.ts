import { create } from "@bufbuild/protobuf";
import {
  type Message,
  NoticeSchema,
  openToolCalls,
  Role,
  structFromJson,
  type Task,
  ToolCallSchema,
  ToolCallStatus,
  type Usage,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { type CallUpdate, changedDetail } from "../tool/call-update.ts";
import type { PolicyEngine } from "../tool/policy-engine.ts";
import { runNewCalls, runOpenCalls, type SchedulerContext } from "../tool/scheduler.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import type { AgentEvent, AgentExecutor, Turn } from "./agent-executor.ts";
import { compress, needsCompression } from "./compress.ts";
import { modelHistory } from "./history.ts";
import type { Model, ModelRequest, ModelToolCall } from "./model.ts";

/** What a loop is made of. */
export interface AgentLoopOptions {
  readonly model: Model;
  /** Opens the tools for one turn. */
  readonly openTools: (signal: AbortSignal) => Promise<ToolSet>;
  readonly policy: PolicyEngine;
  /** The directory the agent works in: an absolute path. */
  readonly workspacePath: string;
  /** What the model is told before the conversation, by the names of the tools it has; asked for once a turn. */
  readonly brief: (toolNames: readonly string[], signal: AbortSignal) => Promise<Briefing>;
  /** Ends the processes that earlier turns left running, when the task is canceled or the server stops. */
  readonly endProcesses: () => Promise<void>;
  /** Makes the ids of tool calls: never the same twice. */
  readonly nextId: () => string;
  /** So many steps a turn may take; the default is 200. */
  readonly maxSteps?: number;
}

/** What a model is told before a conversation. */
export interface Briefing {
  readonly instructions: string;
  /** What the user should know about it: what is missing, and why. */
  readonly notices: readonly string[];
}

/**
 * Lets a model think and runs the tools it calls, step by step, until a step calls none. What there is to do is read off
 * the task, so a turn that a restart cut goes on where its log stands.
 */
export function createAgentLoop(options: AgentLoopOptions): AgentExecutor {
  return {
    modelFor: (task) => chosenModel(task) || options.model.name,
    execute: (turn, signal) => execute(options, turn, signal),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function* execute(options: AgentLoopOptions, turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent> {
  try {
    yield* work(options, turn, signal);
  } finally {
    if (signal.aborted) await options.endProcesses();
  }
}

async function* work(options: AgentLoopOptions, turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent> {
  const { policy, nextId, maxSteps = 200 } = options;
  await using set = await options.openTools(signal);
  const context: SchedulerContext = {
    tools: set.tools,
    policy,
    nextId,
    settle: (edit) => set.settle(edit),
    confirmations: turn.confirmations,
    get task() {
      return turn.task;
    },
  };
  yield* asEvents(runOpenCalls(openToolCalls(turn.task), context, signal));
  const { instructions, notices } = await options.brief([...set.tools.keys()], signal);
  yield* notices.map(noticeOf);
  let used: Usage | undefined;
  let mayShorten = true;
  for (let step = 0; step < maxSteps; step++) {
    const calls: CallUpdate[] = [];
    const asking = requestOf(options, turn.task, { set, instructions });
    if (mayShorten && needsCompression(asking.history, used, options.model.maxInputTokens)) {
      yield* makeRoom(options.model, asking, signal);
      // Once a turn: what could not be summarized will not be with the next step either.
      mayShorten = false;
    }
    const request = requestOf(options, turn.task, { set, instructions });
    const told = { ...request, history: modelHistory(request.history) };
    for await (const event of options.model.generate(told, signal)) {
      if (event.case === "usage") used = event.value;
      if (event.case === "toolCall") calls.push(newCall(event.value, nextId));
      else yield event;
    }
    if (calls.length === 0) return;
    yield* asEvents(runNewCalls(calls, context, signal));
  }
  throw new DevtoolError(`the turn took ${maxSteps} steps: limit is ${maxSteps}`, Code.ResourceExhausted);
}

/** Summarizes the older part of a history that comes near to what the model can be asked with. */
async function* makeRoom(model: Model, request: ModelRequest, signal: AbortSignal): AsyncIterable<AgentEvent> {
  try {
    const { summary, usage } = await compress(model, request, signal);
    if (usage) yield { case: "usage", value: usage };
    if (summary) yield { case: "summary", value: summary };
  } catch (reason) {
    signal.throwIfAborted();
    yield noticeOf(`the conversation is long and could not be summarized: ${DevtoolError.from(reason).message}`);
  }
}

function noticeOf(text: string): AgentEvent {
  return { case: "notice", value: create(NoticeSchema, { text }) };
}

function requestOf(
  { workspacePath }: AgentLoopOptions,
  task: Task,
  { set, instructions }: { readonly set: ToolSet; readonly instructions: string },
): ModelRequest {
  const tools = [...set.tools.values()].map(({ declaration }) => declaration);
  const history = task.history.map(withoutQuestions);
  return { history, tools, workspacePath, instructions, model: chosenModel(task) };
}

/** A message without the questions of running calls: those are between the user and the tool. */
function withoutQuestions(message: Message): Message {
  if (message.role !== Role.AGENT) return message;
  const parts = message.parts.filter(({ toolCallDetail }) => !toolCallDetail?.parentToolCallId);
  return parts.length < message.parts.length ? { ...message, parts } : message;
}

/** The model that the user chose, with the message that is being answered or for the session; empty when they did not. */
function chosenModel({ history, sessionSettings }: Task): string {
  return history.findLast(({ role }) => role === Role.USER)?.model || (sessionSettings?.model ?? "");
}

function newCall({ name, args, signature }: ModelToolCall, nextId: () => string): CallUpdate {
  const call = create(ToolCallSchema, {
    toolCallId: nextId(),
    status: ToolCallStatus.PENDING,
    toolName: name,
    inputParameters: structFromJson(args),
  });
  return signature ? { call, detail: changedDetail(undefined, { modelSignature: signature }) } : { call };
}

async function* asEvents(updates: AsyncIterable<readonly CallUpdate[]>): AsyncIterable<AgentEvent> {
  for await (const value of updates) yield { case: "toolCalls", value };
}
