import { failpoint } from "@devtool/internal/failpoint";
import type { PolicyEngine } from "@devtool/policy";
import { type Message, openToolCalls, Role, type Task } from "@devtool/schema";
import {
  type AgentEvent,
  type AgentExecutor,
  Code,
  changedDetail,
  DevtoolError,
  type IdeContexts,
  type OperationEnd,
  type Turn,
  tellIdeContext,
} from "@devtool/server/agent";
import type { NewCall, PreparedCall } from "../tool/prepared-call.ts";
import { newToolCall } from "../tool/run-tools.ts";
import {
  runNewCalls,
  runOpenCalls,
  type SchedulerContext,
} from "../tool/scheduler.ts";
import type { SampleRequest, SampleResponse, ToolSet } from "../tool/tool.ts";
import { type Briefing, TurnBriefing } from "./briefing.ts";
import { stepStart } from "./history.ts";
import { HistoryCompressor } from "./history-compressor.ts";
import { IdeMessages, toldIdeContext } from "./ide-context.ts";
import type {
  HistoryCache,
  IncrementalHistory,
} from "./incremental-history.ts";
import { finishLateCalls, type LateCallsContext } from "./late-calls.ts";
import type {
  AgentModel,
  ModelToolCall,
  StepRequest,
  StepSource,
} from "./model.ts";
import { type StepTurn, sampleModel } from "./sample-model.ts";

/** Dependencies and options of an agent loop. */
export interface AgentLoopOptions {
  /** Produces the steps: a model or a slash command. */
  readonly source: StepSource;
  /** Answers for the source, and for MCP servers. */
  readonly model: AgentModel;
  /** Opens the tools for one turn. */
  readonly openTools: (signal: AbortSignal) => Promise<ToolSet>;
  readonly awaitedServer: LateCallsContext["awaitedServer"];
  readonly policy: PolicyEngine;
  /** The workspace: an absolute path. */
  readonly workspacePath: string;
  /**
   * Reads the briefing for a model that has the tools with the given names.
   * Called at most once per turn.
   */
  readonly readBriefing: (
    toolNames: readonly string[],
    signal: AbortSignal,
  ) => Promise<Briefing>;
  /**
   * Returns what the client has to know about the tools with the given names,
   * which the turn has.
   */
  readonly describeTools: (
    toolNames: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly AgentEvent[]>;
  /**
   * Ends the processes that earlier turns left running. Called when the task is
   * canceled or the server stops.
   */
  readonly endProcesses: () => Promise<void>;
  /** What the user's editor shows. Default: they have none. */
  readonly ide?: IdeContexts | undefined;
  /** The principal whose editor it is. */
  readonly operator: string;
  /**
   * `SchedulerContext.showEdit`, for the calls of a turn. Default: no editor
   * shows edits.
   */
  readonly showEdit?:
    | ((
        asked: PreparedCall,
        turn: Pick<Turn, "answer">,
        signal: AbortSignal,
      ) => void)
    | undefined;
  /** The prepared histories of all tasks. */
  readonly histories: HistoryCache;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
  /** Creates a unique id for a tool call. */
  readonly nextId: () => string;
  /** The maximum number of steps per turn. Default: 200. */
  readonly maxSteps?: number | undefined;
}

/**
 * Creates an executor that alternates between steps of a model and the tool
 * calls that they request, until a step requests none.
 *
 * The state of a turn is the task itself, so a turn that a restart interrupted
 * continues where its log ends.
 */
export function createAgentLoop(options: AgentLoopOptions): AgentExecutor {
  let history: IncrementalHistory | undefined;
  return {
    takesSteering: true,
    continuesFromLog: true,
    metersCommands: true,
    modelFor: (task) => chosenModel(task) || options.model.name,
    execute: (turn, signal) => {
      history ??= options.histories.startAfter(turn.earlier);
      return runTurn(options, history, turn, signal);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function* runTurn(
  options: AgentLoopOptions,
  history: IncrementalHistory,
  turn: Turn,
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  const { nextId, maxSteps = 200 } = options;
  await using _processes = {
    [Symbol.asyncDispose]: () =>
      signal.aborted ? options.endProcesses() : Promise.resolve(),
  };
  const schedulerFor = (toolSet: ToolSet): SchedulerContext =>
    schedulerContext(
      options,
      turn,
      new TurnModel(options, history, turn, toolSet),
    );
  yield* finishLateCalls({ ...options, task: turn.task, schedulerFor }, signal);
  await using toolSet = await options.openTools(signal);
  yield* await options.describeTools([...toolSet.tools.keys()], signal);
  const model = new TurnModel(options, history, turn, toolSet);
  const context = schedulerContext(options, turn, model);
  for await (const value of runOpenCalls(
    openToolCalls(turn.task),
    context,
    signal,
  )) {
    yield { case: "toolCalls", value };
  }
  for (let step = 0; step < maxSteps; step++) {
    turn.takeSteering();
    yield* model.compressHistory(signal);
    yield* model.lookAtIde(signal);
    const calls: NewCall[] = [];
    for await (const event of model.generate(signal)) {
      if (event.case !== "toolCall") {
        yield event;
        continue;
      }
      calls.push(requestedCall(event.value, nextId()));
    }
    if (calls.length === 0) return;
    for await (const value of runNewCalls(calls, context, signal)) {
      yield { case: "toolCalls", value };
    }
  }
  throw new DevtoolError(
    `the turn took ${maxSteps} steps: limit is ${maxSteps}`,
    Code.ResourceExhausted,
  );
}

/** Returns what runs the calls of a turn, with the tools of its model. */
function schedulerContext(
  { policy, nextId, onNotice, showEdit }: AgentLoopOptions,
  turn: Turn,
  model: TurnModel,
): SchedulerContext {
  const { toolSet } = model;
  return {
    tools: toolSet.tools,
    policy,
    nextId,
    onNotice,
    settle: (edit) => toolSet.settle(edit),
    confirmations: turn.confirmations,
    traceContext: (callId) => turn.traceContext(callId),
    sample: (request, callId, sampleSignal) =>
      model.sample(request, callId, sampleSignal),
    showEdit: showEdit && ((asked, shown) => showEdit(asked, turn, shown)),
    get task() {
      return turn.task;
    },
  };
}

/**
 * Returns the first update of a tool call that the model requests, with the
 * signature that the model wants back with the call.
 */
function requestedCall(wanted: ModelToolCall, id: string): NewCall {
  const { signature, problem } = wanted;
  const call = { ...newToolCall(id, wanted), ...(problem && { problem }) };
  if (!signature) return call;
  const detail = changedDetail(undefined, { modelSignature: signature });
  return { ...call, detail };
}

/** An event of a step: a tool call to run, or an event for the task's log. */
type StepEvent =
  | AgentEvent
  | { readonly case: "toolCall"; readonly value: ModelToolCall };

/** The model in one turn, with the requests that it gets. */
class TurnModel {
  readonly #options: AgentLoopOptions;
  readonly #history: IncrementalHistory;
  readonly #turn: Turn;
  readonly toolSet: ToolSet;
  readonly #briefing: TurnBriefing;
  readonly #compressor: HistoryCompressor;
  readonly #ideMessages = new IdeMessages();

  constructor(
    options: AgentLoopOptions,
    history: IncrementalHistory,
    turn: Turn,
    toolSet: ToolSet,
  ) {
    this.#options = options;
    this.#history = history;
    this.#turn = turn;
    this.toolSet = toolSet;
    this.#briefing = new TurnBriefing((signal) =>
      options.readBriefing([...toolSet.tools.keys()], signal),
    );
    this.#compressor = new HistoryCompressor(
      options.source,
      turn.task.id,
      options.onNotice,
    );
  }

  /** Summarizes the history if it is close to the model's input limit. */
  async *compressHistory(signal: AbortSignal): AsyncIterable<AgentEvent> {
    const conversation = this.#conversation();
    if (!this.#compressor.isNeeded(conversation)) return;
    const { all } = this.#history.update(conversation);
    yield* this.#compressor.compress(this.#request(all, signal), signal);
  }

  /** Adds what the editor shows to a message of the user that is new. */
  async *lookAtIde(signal: AbortSignal): AsyncIterable<AgentEvent> {
    const { ide, operator } = this.#options;
    const { recent } = this.#history.update(this.#conversation());
    const { message: prompt } = stepStart(recent);
    if (!prompt || prompt.ideContext) return;
    const told = toldIdeContext(recent);
    const { task } = this.#turn;
    yield* tellIdeContext({ ide, operator, told }, { task, prompt }, signal);
  }

  /**
   * Generates one step, and publishes the briefing's notices before its first
   * event.
   */
  async *generate(signal: AbortSignal): AsyncIterable<StepEvent> {
    const { recent } = this.#history.update(this.#conversation());
    const request: StepRequest = {
      ...this.#request(recent, signal),
      traceContext: () => this.#turn.traceContext(),
      beginStep: (model, about) => {
        const end = this.#turn.beginStep(model, about);
        return (how) => end(this.#withContext(how));
      },
    };
    failpoint("devtool:model.ask.before");
    for await (const event of this.#options.source.generate(request, signal)) {
      if (this.#briefing.hasNotices) {
        yield* await this.#briefing.takeNotices();
      }
      this.#compressor.recordUsage(event);
      // The step records it at its end.
      if (event.case !== "usage") yield event;
    }
    failpoint("devtool:model.ask.after");
  }

  /** Asks the model for a running call. */
  sample(
    request: SampleRequest,
    callId: string,
    signal: AbortSignal,
  ): Promise<SampleResponse> {
    const turn: StepTurn = {
      model: chosenModel(this.#turn.task),
      traceContext: () => this.#turn.traceContext(),
      beginStep: (model, about) =>
        this.#turn.beginStep(model, { ...about, callId }),
    };
    return sampleModel(this.#options.model, request, turn, signal);
  }

  /** Adds how full the model's context is after a step, for the log. */
  #withContext(how: OperationEnd): OperationEnd {
    const { usage, ...facts } = how.facts ?? {};
    if (!usage) return how;
    const contextTokens = usage.inputTokens + usage.outputTokens;
    const contextWindowTokens = BigInt(
      this.#options.source.maxInputTokens ?? 0,
    );
    return {
      ...how,
      facts: {
        ...facts,
        usage: { ...usage, contextTokens, contextWindowTokens },
      },
    };
  }

  /**
   * The messages of the earlier tasks of the conversation, then those of this
   * task.
   */
  #conversation(): readonly Message[] {
    const { earlier, task } = this.#turn;
    return earlier.length === 0 ? task.history : [...earlier, ...task.history];
  }

  #request(history: readonly Message[], signal: AbortSignal): StepRequest {
    return {
      // What is read as a script has nothing in front of it.
      history:
        this.#options.source.maxInputTokens === undefined
          ? history
          : this.#ideMessages.show(history),
      tools: [...this.toolSet.tools.values()].map(
        ({ declaration }) => declaration,
      ),
      workspacePath: this.#options.workspacePath,
      instructions: () => this.#briefing.instructions(signal),
      model: chosenModel(this.#turn.task),
      traceContext: () => this.#turn.traceContext(),
      beginStep: (model, about) => this.#turn.beginStep(model, about),
    };
  }
}

/**
 * The model that the user chose with their last message or for the session.
 * Empty when they chose none.
 */
function chosenModel({ history, sessionSettings }: Task): string {
  return (
    history.findLast(({ role }) => role === Role.USER)?.model ||
    (sessionSettings?.model ?? "")
  );
}
