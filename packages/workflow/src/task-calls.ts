import { hash } from "node:crypto";
import {
  setTimeout as delay,
  setImmediate as nextTick,
} from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  timestampDate,
  timestampFromDate,
  timestampMs,
} from "@bufbuild/protobuf/wkt";
import { type CalledAgent, runDelegated } from "@devtool/coding-agent/delegate";
import { abortable } from "@devtool/internal/abortable";
import {
  ConfirmationRequestSchema,
  findConfirmation,
  findToolCall,
  findToolCallDetail,
  GenericDetailsSchema,
  isAwaitingApproval,
  isEnded,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  type StepRun,
  StepRunSchema,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type AgentServices,
  type CallUpdate,
  Code,
  changedDetail,
  DevtoolError,
  quoted,
  type Turn,
} from "@devtool/server/agent";
import type { Outbox } from "./outbox.ts";
import type { RunCalls, StepCall, StepEnd, StepQuestion } from "./run-calls.ts";
import { type ChildEnd, endedRun } from "./step-run.ts";
import type { WorkflowDriver } from "./workflow-driver.ts";

/** Longest time that Node's timers take, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What `TaskCalls` work with. */
interface TaskCallsOptions {
  /** Keeps what the tries come to. */
  readonly driver: WorkflowDriver;
  readonly turn: Turn;
  readonly services: AgentServices;
  /** The agents that the run may call. */
  readonly agents: readonly CalledAgent[];
  /** The agents down to the workflow, as a `CallChain` has them. */
  readonly chain: readonly string[];
  /** As `CallingOptions` has it. */
  readonly silenceMs: number | undefined;
  /** Gets the calls that the run consists of. */
  readonly outbox: Outbox;
  /** Aborts with the turn. */
  readonly signal: AbortSignal;
}

/**
 * Shows a run in the log of its task: each try of a step, and each question, is
 * a tool call whose id follows from its path.
 */
export class TaskCalls implements RunCalls {
  readonly #options: TaskCallsOptions;

  constructor(options: TaskCallsOptions) {
    this.#options = options;
  }

  async step(call: StepCall, signal: AbortSignal): Promise<StepEnd> {
    const { path, attempt, undoes } = call;
    const id = this.#callId(`${undoes ? "undo" : "step"}:${path}:${attempt}`);
    const { driver } = this.#options;
    let run = driver.ended(id);
    if (!run) {
      // What was at work goes on even behind a failure, to be canceled.
      if (!this.#stepRun(id)) await this.#beginNew(signal);
      const work = (): Promise<StepRun> => this.#try(id, call, signal);
      run = await driver.step(id, work, signal);
    }
    return run.isStopped ? stopped(signal) : endOf(run);
  }

  async wait(question: StepQuestion, signal: AbortSignal): Promise<boolean> {
    const { turn, outbox } = this.#options;
    const id = this.#callId(`approval:${question.path}`);
    const known = findToolCall(turn.task, id);
    const answered = findConfirmation(turn.task, id);
    if (known && isEnded(known) && answered) {
      return isYes(answered.selectedOptionId);
    }
    const call = known ?? questionCall(id, question);
    let answer = answered;
    if (!answer || isAwaitingApproval(call)) {
      if (!known) await this.#beginNew(signal);
      turn.confirmations.open(id);
      const digest = hash("sha256", question.text, "buffer");
      const detail = changedDetail(undefined, { digest });
      if (!known) await outbox.put([{ call, detail }]);
      try {
        answer = await turn.confirmations.wait(id, signal);
      } catch (reason) {
        this.#options.signal.throwIfAborted();
        await outbox.put([{ call: ended(call, ToolCallStatus.CANCELLED) }]);
        throw reason;
      }
    }
    if (!isYes(answer.selectedOptionId)) return false;
    await outbox.put([
      { call: ended(call, ToolCallStatus.EXECUTING) },
      { call: ended(call, ToolCallStatus.SUCCEEDED) },
    ]);
    return true;
  }

  async sleep(untilMs: number, signal: AbortSignal): Promise<void> {
    const { services } = this.#options;
    for (;;) {
      const left = untilMs - services.now().getTime();
      if (left <= 0) return;
      try {
        await delay(Math.min(left, MAX_TIMER_MS), undefined, { signal });
      } catch {
        signal.throwIfAborted();
      }
    }
  }

  /**
   * Waits until all that the log knows has had its effects: a step that failed
   * before a restart then keeps others from beginning, as it did.
   */
  async #beginNew(signal: AbortSignal): Promise<void> {
    await nextTick();
    signal.throwIfAborted();
  }

  /** Has an agent do a try, unless the log says how that ended. */
  async #try(
    id: string,
    call: StepCall,
    signal: AbortSignal,
  ): Promise<StepRun> {
    const known = this.#stepRun(id);
    if (known?.endTime) return known;
    await this.#work(id, call, known, signal);
    const ended = this.#stepRun(id);
    if (ended?.endTime) return ended;
    signal.throwIfAborted();
    throw new DevtoolError(`call ${quoted(id)} has no end`, Code.Internal);
  }

  async #work(
    id: string,
    call: StepCall,
    known: StepRun | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { turn, services, agents, chain, silenceMs, outbox } = this.#options;
    const { message, data, timeoutMs } = call;
    const agent = agents.find(({ name }) => name === call.agent);
    if (!agent) {
      throw new DevtoolError(
        `agent ${quoted(call.agent)} is not there`,
        Code.NotFound,
      );
    }
    const begun = known ?? this.#newRun(call);
    const timer = this.#deadline(begun, timeoutMs);
    const until = AbortSignal.any([signal, ...(timer ? [timer.signal] : [])]);
    const stepRun = (
      changed: ToolCall,
      messageId: string,
      child: ChildEnd,
    ): StepRun => {
      const run = { ...begun, messageId };
      if (!isEnded(changed)) return run;
      const ended = endedRun(run, changed, child, this.#options.services.now());
      return { ...ended, isStopped: !ended.result && signal.aborted };
    };
    const updates = runDelegated(
      {
        toolCallId: id,
        agent,
        message,
        data,
        chain,
        namesTaskFirst: true,
        silenceMs,
        stepRun,
      },
      {
        turn,
        services: { nextId: services.nextId, onNotice: services.onNotice },
        signal: this.#options.signal,
      },
      until,
    );
    try {
      let first: CallUpdate[] = [];
      for await (const update of updates) {
        // What is new is recorded with its start.
        if (
          update.call.status === ToolCallStatus.PENDING &&
          first.length === 0 &&
          update.call.toolCallId === id
        ) {
          first = [update];
          continue;
        }
        await outbox.put([...first, update]);
        first = [];
      }
    } finally {
      timer?.[Symbol.dispose]();
    }
  }

  /**
   * Returns the id of a call: another one for each time that the call was
   * canceled with the turn, as by a budget, before it had an end.
   */
  #callId(first: string): string {
    const { task } = this.#options.turn;
    for (let id = first, count = 2; ; id = `${first}:${count++}`) {
      const call = findToolCall(task, id);
      const wasCut =
        call?.status === ToolCallStatus.CANCELLED &&
        !this.#stepRun(id)?.endTime &&
        !findConfirmation(task, id);
      if (!wasCut) return id;
    }
  }

  #stepRun(id: string): StepRun | undefined {
    return findToolCallDetail(this.#options.turn.task, id)?.stepRun;
  }

  #newRun({ path, attempt, undoes }: StepCall): StepRun {
    return create(StepRunSchema, {
      path,
      attempt,
      undoes,
      startTime: timestampFromDate(this.#options.services.now()),
    });
  }

  /** Begins the time that a try has left. */
  #deadline(
    { startTime }: StepRun,
    timeoutMs: number | undefined,
  ): ({ readonly signal: AbortSignal } & Disposable) | undefined {
    if (timeoutMs === undefined || !startTime) return undefined;
    const ends = new AbortController();
    const stop = new AbortController();
    const reason = new DevtoolError(
      `it took more than ${timeoutMs / 1000} s`,
      Code.DeadlineExceeded,
    );
    this.sleep(timestampMs(startTime) + timeoutMs, stop.signal).then(
      () => ends.abort(reason),
      () => undefined,
    );
    return { signal: ends.signal, [Symbol.dispose]: () => stop.abort() };
  }
}

function endOf({ result, error, isFinal, endTime }: StepRun): StepEnd {
  const endMs = endTime ? timestampDate(endTime).getTime() : 0;
  return { result, error, isFinal, endMs };
}

/** Rejects when the failure of another step, which the log has, stops it. */
function stopped(signal: AbortSignal): Promise<never> {
  return abortable(new Promise<never>(() => undefined), signal);
}

function isYes(optionId: string): boolean {
  return optionId !== OPTION_CANCEL;
}

function questionCall(
  toolCallId: string,
  { path, text }: StepQuestion,
): ToolCall {
  return create(ToolCallSchema, {
    toolCallId,
    toolName: "approval",
    status: ToolCallStatus.PENDING,
    description: `Approval of step ${path}`,
    confirmationRequest: create(ConfirmationRequestSchema, {
      options: [
        { id: OPTION_PROCEED_ONCE, name: "Approve" },
        { id: OPTION_CANCEL, name: "Decline" },
      ],
      details: {
        case: "genericDetails",
        value: create(GenericDetailsSchema, { description: text }),
      },
    }),
  });
}

function ended(
  { confirmationRequest: _answered, ...call }: ToolCall,
  status: ToolCallStatus,
): ToolCall {
  return { ...call, status };
}
