import { create, type JsonObject } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { endsWork } from "@devtool/internal/ends-work";
import { oneLine } from "@devtool/internal/visible-text";
import {
  findToolCall,
  findToolCallDetail,
  type Part,
  type StepRun,
  structFromJson,
  type Task,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
  type TraceContext,
} from "@devtool/schema";
import {
  type AgentServices,
  type CallUpdate,
  Code,
  changedDetail,
  DevtoolError,
  quoted,
  type Turn,
  toolFailure,
} from "@devtool/server/agent";
import { delegationOf } from "../tool/delegation.ts";
import { closeQuestions } from "../tool/lasting-question.ts";
import { failedCall } from "../tool/prepared-call.ts";
import { type RunContext, runCall } from "../tool/running-call.ts";
import type { CallPlace, ToolEvent, ToolInvocation } from "../tool/tool.ts";
import { agentToolName, connect, followChild } from "./agent-tool.ts";
import {
  type AgentConversation,
  cancelWork,
  idOf,
  keepUntold,
  knownTaskOf,
  MAY_GO_ON,
  type PlacedCall,
  uuidOf,
} from "./call-ids.ts";
import type { CalledAgent } from "./called-agent.ts";
import { CANCEL_MS } from "./child-task.ts";

/** The maximum length of live output and of a call's result, in characters. */
const MAX_OUTPUT_LENGTH = 16_000;

/** Work for another agent that a program gives it, and not a model. */
export interface DelegatedCall {
  /**
   * The id of the call. All ids that the agent gets follow from it, so a call
   * with the same id, after a restart, is the same work.
   */
  readonly toolCallId: string;
  readonly agent: CalledAgent;
  readonly message: string;
  /** Data that comes with the message. Default: none. */
  readonly data?: JsonObject | undefined;
  /** Files that come with the message. Default: none. */
  readonly files?: readonly Part[] | undefined;
  /** The conversation at the agent that the work belongs to. Default: its own. */
  readonly conversation?:
    | {
        /** Calls with the same key are of the same conversation. */
        readonly key: string;
        /** The ids of its tasks so far, the last one last. */
        readonly taskIds: readonly string[];
      }
    | undefined;
  /** The agents down to the calling one, as a `CallChain` has them. */
  readonly chain: readonly string[];
  /**
   * Whether the record names the task of an agent of this server from the start
   * on. Default: once the agent has the message.
   */
  readonly namesTaskFirst?: boolean;
  /**
   * Whether another agent gets the work if this one cannot be reached, which is
   * then not waited for. Default: false.
   */
  readonly isReplaceable?: boolean;
  /**
   * How long the agent may say nothing while it works, in milliseconds. Default:
   * 30 minutes.
   */
  readonly silenceMs?: number | undefined;
  /**
   * Returns what the record of the call says of the step that it is: while the
   * call runs, and with the agent's task when it has ended. Without one, it
   * ended otherwise: `"unknown"` where the agent may still work.
   */
  readonly stepRun: (
    call: ToolCall,
    messageId: string,
    ended: Task | "unknown" | undefined,
  ) => StepRun;
}

/** The turn that a call is made in. */
export interface CallingTurn {
  readonly turn: Pick<Turn, "task" | "confirmations" | "traceContext">;
  readonly services: Pick<AgentServices, "nextId" | "onNotice">;
  /** Aborts with the turn. */
  readonly signal: AbortSignal;
}

/**
 * Makes a call, or goes on with it after a restart: has the agent work, shows
 * what it does, asks the user what it asks.
 *
 * @param until ends the call alone, which then fails with its reason, and
 * cancels the agent's task
 */
export async function* runDelegated(
  delegated: DelegatedCall,
  { turn, services, signal }: CallingTurn,
  until: AbortSignal,
): AsyncIterable<CallUpdate> {
  const { toolCallId, agent, message, data, stepRun } = delegated;
  const context = runContext(turn, services);
  const args = { message, ...(data && { data }) };
  const description = `Agent ${agent.name} (${agent.place}): ${oneLine(message)}`;
  const known = findToolCall(turn.task, toolCallId);
  const detail = changedDetail(findToolCallDetail(turn.task, toolCallId), {});
  const call =
    known ??
    create(ToolCallSchema, {
      toolCallId,
      toolName: agentToolName(agent.name),
      status: ToolCallStatus.PENDING,
      description,
      inputParameters: structFromJson(args),
    });
  const place = { task: turn.task, toolCallId };
  const messageId = idOf(place, "message");
  const taskId =
    agent.isOwnServer && delegated.namesTaskFirst ? idOf(place, "task") : "";
  const work = new AgentWork(delegated, services.onNotice, signal);
  const withStep = ({ call: changed, detail }: CallUpdate): CallUpdate => ({
    call: changed,
    detail: changedDetail(detail ?? findToolCallDetail(turn.task, toolCallId), {
      stepRun: stepRun(changed, messageId, work.ended),
    }),
  });
  const invocation: ToolInvocation = {
    args,
    description,
    delegation: delegationOf({ agent: agent.name, taskId }),
    execute: (callSignal, trace, at) => work.run(callSignal, trace, at),
  };
  if (!known) yield withStep({ call });
  try {
    for await (const update of runCall(
      { call, detail, invocation },
      invocation,
      context,
      AbortSignal.any([signal, until]),
    )) {
      // Questions of the agent are calls of their own.
      yield update.call.toolCallId === toolCallId ? withStep(update) : update;
    }
  } catch (reason) {
    signal.throwIfAborted();
    if (!until.aborted) throw reason;
    const { message: problem } = DevtoolError.from(until.reason);
    const last = findToolCall(turn.task, toolCallId) ?? call;
    yield* closeQuestions(last, context);
    const failure = toolFailure("execution_failed", problem);
    yield withStep({ call: failedCall(last, failure) });
  }
}

function runContext(
  turn: CallingTurn["turn"],
  services: CallingTurn["services"],
): RunContext {
  return {
    ...services,
    confirmations: turn.confirmations,
    traceContext: (callId) => turn.traceContext(callId),
    get task() {
      return turn.task;
    },
  };
}

/** The work of an agent for a call. */
class AgentWork {
  readonly #delegated: DelegatedCall;
  readonly #onNotice: (text: string) => void;
  readonly #turn: AbortSignal;
  #isConnected = false;
  /** How the work ended, as `DelegatedCall.stepRun` gets it. */
  ended: Task | "unknown" | undefined;

  constructor(
    delegated: DelegatedCall,
    onNotice: (text: string) => void,
    turn: AbortSignal,
  ) {
    this.#delegated = delegated;
    this.#onNotice = onNotice;
    this.#turn = turn;
  }

  /** Has the agent work. Cancels its task when the call alone is aborted. */
  async *run(
    signal: AbortSignal,
    trace: TraceContext | undefined,
    place: CallPlace | undefined,
  ): AsyncIterable<ToolEvent> {
    if (!place) return;
    const { agent, message, data, files, chain, isReplaceable, silenceMs } =
      this.#delegated;
    const connected: CalledAgent = {
      ...agent,
      connect: async (task, limit) => {
        const connection = await agent.connect(task, limit);
        this.#isConnected = true;
        return connection;
      },
    };
    const call = {
      agent: connected,
      message,
      data,
      files,
      chain,
      isReplaceable,
      silenceMs,
      conversation: this.#conversation,
      taskId: "",
      place,
      trace,
      maxOutputLength: MAX_OUTPUT_LENGTH,
      onEnd: (task: Task): void => {
        this.ended = task;
      },
      onFailure: (reason: unknown) => this.#noteFailure(reason, place),
    };
    try {
      yield* followChild(call, signal);
    } finally {
      const isOver = !this.#turn.aborted || endsWork(this.#turn.reason);
      if (signal.aborted && !this.ended && isOver) await this.#cancel(place);
    }
  }

  get #conversation(): AgentConversation | undefined {
    const { conversation } = this.#delegated;
    if (!conversation) return undefined;
    const { key, taskIds } = conversation;
    return { contextId: uuidOf(key), taskIds };
  }

  async #cancel(place: CallPlace): Promise<void> {
    const isUnderWay = this.#isConnected || place.isResumed;
    if (!isUnderWay) return;
    const call = { place, conversation: this.#conversation };
    const isKnown = await cancelChild(
      this.#delegated.agent,
      call,
      this.#onNotice,
    );
    if (!isKnown) this.ended = "unknown";
  }

  async #noteFailure(reason: unknown, place: CallPlace): Promise<void> {
    const isUnderWay = this.#isConnected || place.isResumed;
    if (!isUnderWay || wasRefused(reason, place)) return;
    if (codeOf(reason) === Code.Aborted) {
      this.ended = "unknown";
    } else {
      await this.#cancel(place);
    }
  }
}

function codeOf(reason: unknown): Code {
  return reason instanceof ConnectError
    ? reason.code
    : DevtoolError.from(reason).code;
}

/** Whether an agent, of which nothing is known, answered that it has nothing. */
function wasRefused(reason: unknown, place: CallPlace): boolean {
  return knownTaskOf(place) === "" && !LOST.has(codeOf(reason));
}

/** The codes of a connection that is lost, or of a call that may be under way. */
const LOST: ReadonlySet<Code> = new Set([
  Code.Aborted,
  Code.Canceled,
  Code.DataLoss,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.Unavailable,
  Code.Unknown,
]);

/**
 * Cancels the work of a call, or says that an agent could not be told. Returns
 * whether it was.
 */
async function cancelChild(
  agent: CalledAgent,
  {
    place: { task, toolCallId },
    conversation,
  }: Omit<PlacedCall, "agent" | "taskId">,
  onNotice: (text: string) => void,
): Promise<boolean> {
  const signal = AbortSignal.timeout(CANCEL_MS);
  const call = { place: { task, toolCallId }, taskId: "", conversation };
  try {
    const connection = await connect(
      { agent, place: { task, isResumed: true } },
      signal,
    );
    await cancelWork({ ...call, agent }, connection, signal);
    return true;
  } catch (reason) {
    const why = signal.aborted
      ? `it did not answer within ${CANCEL_MS / 1000} seconds`
      : ConnectError.from(reason).rawMessage;
    const fate = signal.aborted ? await keepUntold(agent, call) : MAY_GO_ON;
    onNotice(
      `agent ${quoted(agent.name)} could not be told to cancel what task ${quoted(task.id)} gave it: ${why}; ${fate}`,
    );
    return false;
  }
}
