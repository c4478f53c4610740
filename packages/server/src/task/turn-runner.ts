import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageDelivery,
  NoticeSchema,
  type Task,
  TaskState,
  type ToolCallConfirmation,
} from "@devtool/schema";
import type {
  AgentEvent,
  AgentExecutor,
  Turn,
} from "../agent/agent-executor.ts";
import type { CallUpdate } from "../agent/call-update.ts";
import { Confirmations } from "../agent/confirmations.ts";
import type { GoalChecks } from "../agent/goal-checks.ts";
import { isPrompt, turnNews } from "../agent/turn-news.ts";
import { TurnReplay } from "../agent/turn-replay.ts";
import { Code, DevtoolError, devtoolErrorOf, quoted } from "../errors.ts";
import { assertWorkspaceInPlace } from "../files/workspace-roots.ts";
import type { OperationEnd } from "../observer.ts";
import { CANCELED_OPERATION, SUCCEEDED } from "../operations.ts";
import type { AgentSessions, SessionTurn } from "../store/agent-sessions.ts";
import type { Earlier } from "./earlier-conversation.ts";
import type { EventLog, LogEntry } from "./event-log.ts";
import { hasActiveGoal } from "./goal-progress.ts";
import { assertNoCheck, isOfChecks, workForGoal } from "./goal-turn.ts";
import { hasOwnTurn, takenEntry } from "./message-queue.ts";
import type { TaskOperations } from "./task-operations.ts";
import { BudgetReached, type Budgets, type TurnBudget } from "./turn-budget.ts";
import { CANCELED, endEntry, stateEntry } from "./turn-entries.ts";
import type { TurnRecorder } from "./turn-recorder.ts";

/**
 * The time in milliseconds between attempts to begin a turn while another
 * server works in the conversation.
 */
const RETRY_MS = 500;

/**
 * How a turn of the agent ended: by itself, or because it was aborted or
 * failed.
 */
export type Outcome =
  | { readonly case: "ended"; readonly entry: LogEntry }
  | { readonly case: "aborted"; readonly reason: unknown };

/** Dependencies of `TurnRunner`. */
export interface TurnRunnerOptions {
  readonly log: EventLog;
  readonly recorder: TurnRecorder;
  readonly executor: AgentExecutor;
  /** Reads what was said in the tasks that a task continues. */
  readonly earlier: (task: Task) => Promise<Earlier>;
  /**
   * The conversations that agents keep themselves. Default: no other server
   * works in them.
   */
  readonly sessions?: AgentSessions | undefined;
  /** Takes an answer that the user gave outside of the protocol. */
  readonly answer: (message: Message, place: string) => Promise<void>;
  /** Records how a turn ended. It may start the next turn. */
  readonly recordEnd: (outcome: Outcome) => Promise<void>;
  /**
   * Returns the name of what answers, for an executor that names nothing.
   * Default: empty.
   */
  readonly modelNameOf?: ((task: Task) => string) | undefined;
  /**
   * Receives what an agent threw unexpectedly: clients see "internal error".
   */
  readonly onError?: ((reason: unknown) => void) | undefined;
  /** What the server's observer hears of the task. Default: none listens. */
  readonly operations?: TaskOperations | undefined;
  /** Limits what turns use. Default: nothing does. */
  readonly budgets?: Budgets | undefined;
  /** Runs the checks of goals. Default: tasks have no goals. */
  readonly checks?: GoalChecks | undefined;
}

/** A turn that runs. */
interface Run {
  /** Aborts the turn. */
  readonly controller: AbortController;
  /** Resolves when the end of the turn is recorded. */
  readonly ended: Promise<void>;
}

/**
 * Runs the agent of an open task, one turn at a time, and records what it does.
 */
export class TurnRunner implements AsyncDisposable {
  /**
   * Whether an earlier executor worked on the task, and this one has not run
   * yet.
   */
  isRestarted = false;
  readonly #options: TurnRunnerOptions;
  readonly #confirmations = new Confirmations();
  /** The ids of tasks whose absence was said. */
  readonly #missing = new Set<string>();
  #run: Run | undefined;
  /** Resolves when the executor is closed; undefined while it is open. */
  #closed: Promise<void> | undefined;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
    options.log.failed.addEventListener("abort", this.#fail, { once: true });
  }

  /**
   * Whether the agent runs. False as soon as it has ended, before the end of
   * its turn is recorded.
   */
  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  /**
   * Starts a turn. Does nothing when the log has failed. No other turn may run.
   */
  start(): void {
    if (this.#options.log.failure) return;
    const controller = new AbortController();
    this.#run = { controller, ended: this.#execute(controller.signal) };
  }

  /**
   * Gives the agent an answer that is in the log. Ignores an answer that the
   * agent does not wait for.
   */
  answer(confirmation: ToolCallConfirmation): void {
    const { operations, log } = this.#options;
    operations?.noteAnswer(log.task, confirmation);
    this.#confirmations.answer(confirmation);
  }

  /**
   * Aborts the turn that runs, if one does. Resolves when its end is recorded.
   */
  async abort(reason: Error): Promise<void> {
    const run = this.#run;
    run?.controller.abort(reason);
    await run?.ended;
  }

  /**
   * Waits for the end of the turn that runs, if one does, and closes the
   * executor.
   */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#run?.ended;
    await this.#options.executor[Symbol.asyncDispose]?.();
  }

  /**
   * Ends the agent at once: what it does cannot be recorded any more, and
   * another server may do it as well.
   */
  readonly #fail = (): void => {
    this.#run?.controller.abort(this.#options.log.failure);
    // Whoever closes the task has the error.
    this[Symbol.asyncDispose]().catch(() => undefined);
  };

  async #execute(signal: AbortSignal): Promise<void> {
    const { log, operations, recordEnd, onError } = this.#options;
    operations?.beginTurn(log.task);
    const outcome = await this.#runTurn(signal).then(
      (entry): Outcome => ({ case: "ended", entry }),
      (reason: unknown): Outcome => ({ case: "aborted", reason }),
    );
    // Reset before the end is recorded, so that a message after it starts a run
    // of its own.
    this.#run = undefined;
    const endTurn = operations?.endTurn(operationEnd(outcome, signal));
    // A log that failed rejects appends. The registry opens the task again,
    // which recovers it.
    if (log.failure) return endTurn?.(log.task);
    if (isUnexpected(outcome, signal)) onError?.(outcome.reason);
    // An agent may have ended and still be closing its resources. A
    // cancellation counts until that is done.
    const isAborted =
      signal.aborted &&
      (outcome.case === "aborted" ||
        signal.reason === CANCELED ||
        signal.reason instanceof BudgetReached);
    const recorded = recordEnd(
      isAborted ? { case: "aborted", reason: signal.reason } : outcome,
    );
    // Another turn may add to it before this is durable.
    const left = endTurn && log.task;
    await recorded.catch(() => undefined);
    if (left) endTurn(left);
  }

  /** Says once of each task that the conversation continues without it. */
  #noteMissing(missing: readonly string[]): void {
    const rest = this.#options.executor.keepsSession
      ? "what the agent has of it in a session of its own stays there"
      : "the agent does not know what was said there";
    const entries = missing
      .filter((taskId) => !this.#missing.has(taskId))
      .map((taskId): LogEntry => {
        this.#missing.add(taskId);
        const text = `Task ${quoted(taskId)}, which this one continues, does not exist any more: ${rest}.`;
        const value = create(NoticeSchema, { text });
        return { payload: { case: "notice", value } };
      });
    if (entries.length === 0) return;
    // Store failures surface on the next append.
    this.#options.recorder.append(entries).catch(() => undefined);
  }

  /**
   * Returns what ends a step once: it counts the tokens and records them. Store
   * failures surface on the next append.
   */
  #countedEnd(
    end: ((how: OperationEnd) => void) | undefined,
    budget: TurnBudget | undefined,
  ): (how: OperationEnd) => void {
    let isOpen = true;
    return (how) => {
      if (!isOpen) return;
      isOpen = false;
      const value = how.facts?.usage;
      if (value) {
        budget?.add(value);
        const held = this.#options.recorder.record({ case: "usage", value });
        held?.catch(() => undefined);
      }
      end?.(how);
    };
  }

  /** Has the agent work on a turn, and on its goal if the task has one. */
  #events(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent> {
    const { executor, checks } = this.#options;
    if (!hasActiveGoal(turn.task)) return executor.execute(turn, signal);
    if (checks) return workForGoal(executor, checks, turn, signal);
    throw new DevtoolError(
      "no agent of this server runs the checks of the goal",
      Code.FailedPrecondition,
      { remedy: "have the operator serve devtool's own agent too" },
    );
  }

  /** Runs the agent for one turn, and returns the entry that ends the turn. */
  async #runTurn(signal: AbortSignal): Promise<LogEntry> {
    const { log, recorder, executor, earlier, sessions, operations } =
      this.#options;
    assertWorkspaceInPlace(log.task.settings?.workspacePath ?? "");
    await using agentSession =
      sessions && executor.keepsSession
        ? await beginAgentSession(this.#options, sessions, signal)
        : undefined;
    await log.readNeeded();
    recorder.model =
      (await executor.modelFor?.(log.task)) ||
      (this.#options.modelNameOf?.(log.task) ?? "");
    // The agent starts before this is durable. Its events follow in the log.
    // Store failures surface on the next append.
    recorder.appendWithState([]).catch(() => undefined);
    const { before: messagesBefore, missing } = await earlier(log.task);
    this.#noteMissing(missing);
    const confirmations = this.#confirmations;
    // A turn that goes on finds what it has said and done.
    const { history } = log.task;
    const atStart = await log.whole(
      history.length - history.findLastIndex(isPrompt),
    );
    const prompt = atStart.history.findLast(isPrompt);
    const news = turnNews(atStart);
    const budget = await this.#options.budgets?.begin(atStart, recorder.model, {
      isNew: news.message !== undefined,
      wanted: prompt?.turnSettings?.budget,
      isFree: executor.metersCommands === true && atStart.command !== undefined,
    });
    const cut = (reason: BudgetReached): void =>
      this.#run?.controller.abort(reason);
    budget?.assertWithin(cut);
    using _clock = budget?.watch(log.work, cut);
    const replay = new TurnReplay(atStart, {
      task: () => log.task,
      confirmations,
    });
    const turn: Turn = {
      get task() {
        return log.task;
      },
      earlier: messagesBefore,
      prompt,
      news: { ...news, restarted: this.isRestarted },
      say: (text) => replay.say(text),
      call: (call, callSignal) => replay.call(call, callSignal),
      confirmations,
      answer: (message, place) => this.#options.answer(message, place),
      takeSteering: () => {
        const messages = log.task.queuedMessages.filter(
          ({ delivery }) => delivery === MessageDelivery.STEER,
        );
        if (messages.length === 0 || hasOwnTurn(log.task)) return;
        // The messages are in the history when this returns. Store failures
        // surface on the next append.
        recorder
          .append(messages.map((each) => takenEntry(log.task, each)))
          .catch(() => undefined);
      },
      sessionFence: agentSession?.fence ?? 0n,
      beginStep: (model, about = {}) => {
        budget?.use();
        budget?.assertWithin(cut);
        const end = operations?.beginStep(log.task, model, about);
        return this.#countedEnd(end, budget);
      },
      traceContext: (callId) => operations?.traceContext(callId),
    };
    this.isRestarted = false;
    const isChecked = hasActiveGoal(log.task);
    const events = this.#events(turn, signal);
    for await (const event of events) {
      if (event.case === "end" || event.case === "reply") {
        return endEntry(event, log.task);
      }
      if (!isChecked) assertNoCheck(event);
      if (event.case === "toolCalls") {
        budget?.use();
        const calls = event.value.filter(isOfAgent);
        if (calls.length > 0) await budget?.addBelow(calls);
      }
      // What ends the turn may come after a step that reached a limit.
      if (event.case === "usage") {
        budget?.add(event.value);
      } else if (!isOfChecks(event)) {
        budget?.assertWithin(cut);
      }
      // Before the event: whoever has the next turn finds the id, also
      // when this server dies now.
      if (event.case === "session") await agentSession?.record(event.value);
      const held = recorder.record(event);
      if (held) await held;
    }
    return stateEntry(TaskState.COMPLETED);
  }
}

/** Whether another agent does the work of a call. */
function isOfAgent({ detail }: CallUpdate): boolean {
  return (detail?.delegation?.agent ?? "") !== "";
}

/** Whether an agent failed with an error that is not for clients. */
function isUnexpected(
  outcome: Outcome,
  signal: AbortSignal,
): outcome is Extract<Outcome, { readonly case: "aborted" }> {
  return (
    outcome.case === "aborted" &&
    !signal.aborted &&
    !devtoolErrorOf(outcome.reason)
  );
}

function operationEnd(outcome: Outcome, signal: AbortSignal): OperationEnd {
  if (signal.aborted) return CANCELED_OPERATION;
  return outcome.case === "ended"
    ? SUCCEEDED
    : { outcome: "failed", error: outcome.reason };
}

/**
 * Waits until no other server works in the conversation of a task, and begins a
 * turn there.
 *
 * The task then has the id of the agent's session that the last turn used,
 * whichever server had it.
 */
async function beginAgentSession(
  { log, recorder }: TurnRunnerOptions,
  sessions: AgentSessions,
  signal: AbortSignal,
): Promise<SessionTurn> {
  for (;;) {
    const turn = await sessions.begin(log.task);
    if (!turn) {
      await delay(RETRY_MS, undefined, { signal }).catch(() =>
        signal.throwIfAborted(),
      );
      continue;
    }
    log.conversation.agentSessionId =
      turn.agentSessionId || log.conversation.agentSessionId;
    // The first event with the id puts it into the task. Store failures surface
    // on the next append.
    if (log.task.agentSessionId !== log.conversation.agentSessionId) {
      recorder
        .append([{ payload: { case: undefined } }])
        .catch(() => undefined);
    }
    return turn;
  }
}
