import { create } from "@bufbuild/protobuf";
import type { PolicyEngine } from "@devtool/policy";
import {
  type Message,
  openToolCalls,
  Role,
  structFromJson,
  type Task,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type AgentEvent,
  type AgentExecutor,
  type CallUpdate,
  Code,
  changedDetail,
  DevtoolError,
  failpoint,
  type Turn,
} from "@devtool/server/agent";
import { runNewCalls, runOpenCalls, type SchedulerContext } from "../tool/scheduler.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import { Brief, type Briefing } from "./briefing.ts";
import { HistoryRoom } from "./history-room.ts";
import type { Model, ModelRequest, ModelToolCall } from "./model.ts";
import type { ToldConversations, ToldHistory } from "./told-history.ts";

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
  /** What models are told of the conversations of all tasks. */
  readonly conversations: ToldConversations;
  /** Takes what the operator should know, in words. */
  readonly onNotice: (text: string) => void;
  /** Makes the ids of tool calls: never the same twice. */
  readonly nextId: () => string;
  /** The maximum number of steps of a turn. Default 200. */
  readonly maxSteps?: number;
}

/**
 * Lets a model think and runs the tools it calls, step by step, until a step calls none. What there is to do is read off
 * the task, so a turn that a restart cut goes on where its log stands.
 */
export function createAgentLoop(options: AgentLoopOptions): AgentExecutor {
  let told: ToldHistory | undefined;
  return {
    takesSteering: true,
    modelFor: (task) => chosenModel(task) || options.model.name,
    execute: (turn, signal) => {
      told ??= options.conversations.after(turn.earlier);
      return execute({ ...options, told }, turn, signal);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Options of a loop, with what it keeps from turn to turn. */
interface Loop extends AgentLoopOptions {
  readonly told: ToldHistory;
}

async function* execute(options: Loop, turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent> {
  const { policy, nextId, told, onNotice, maxSteps = 200 } = options;
  await using set = await options.openTools(signal);
  await using _processes = endingWith(signal, options.endProcesses);
  const context: SchedulerContext = {
    tools: set.tools,
    policy,
    nextId,
    onNotice,
    settle: (edit) => set.settle(edit),
    confirmations: turn.confirmations,
    get task() {
      return turn.task;
    },
  };
  yield* asEvents(runOpenCalls(openToolCalls(turn.task), context, signal));
  const brief = new Brief(() => options.brief([...set.tools.keys()], signal));
  const room = new HistoryRoom(options.model, { task: turn.task.id, onNotice });
  for (let step = 0; step < maxSteps; step++) {
    turn.takeSteering();
    const calls: CallUpdate[] = [];
    const ask = (history: readonly Message[]): ModelRequest => requestOf(options, turn, { set, brief, history });
    const conversation = conversationOf(turn);
    if (room.isScarce(conversation)) yield* room.make(ask(told.of(conversation).all), signal);
    const { recent } = told.of(conversationOf(turn));
    failpoint("devtool:model.ask.before");
    for await (const event of options.model.generate(ask(recent), signal)) {
      if (brief.hasNotices) yield* await brief.notices();
      room.note(event);
      if (event.case === "toolCall") calls.push(newCall(event.value, nextId));
      else yield event;
    }
    failpoint("devtool:model.ask.after");
    if (calls.length === 0) return;
    yield* asEvents(runNewCalls(calls, context, signal));
  }
  throw new DevtoolError(`the turn took ${maxSteps} steps: limit is ${maxSteps}`, Code.ResourceExhausted);
}

/** Ends what runs on beside a turn when the turn is aborted. */
function endingWith(signal: AbortSignal, endProcesses: () => Promise<void>): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => (signal.aborted ? endProcesses() : Promise.resolve()) };
}

/** What was said in the tasks before, and in this one. */
function conversationOf({ earlier, task }: Turn): readonly Message[] {
  return earlier.length === 0 ? task.history : [...earlier, ...task.history];
}

function requestOf(
  { workspacePath }: AgentLoopOptions,
  turn: Turn,
  { set, brief, history }: { readonly set: ToolSet; readonly brief: Brief; readonly history: readonly Message[] },
): ModelRequest {
  const tools = [...set.tools.values()].map(({ declaration }) => declaration);
  return { history, tools, workspacePath, instructions: () => brief.instructions(), model: chosenModel(turn.task) };
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
