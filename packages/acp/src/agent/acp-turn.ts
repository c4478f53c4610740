import type { ContentBlock, CreateElicitationResponse, RequestPermissionOutcome } from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  findToolCallDetail,
  OPTION_CANCEL,
  openToolCalls,
  type ToolCallConfirmation,
  ToolCallStage,
} from "@devtool/schema";
import { listOrEmpty, objectOrEmpty } from "@devtool/schema/json";
import type { AgentEvent, CallUpdate, PermissionPolicy, Turn } from "@devtool/server/agent";
import type { AcpSession } from "./acp-session.ts";
import { Approvals, type ShownCall } from "./approvals.ts";
import { CallBook } from "./call-book.ts";
import { CallDecision } from "./call-decision.ts";
import { EarlierQuestions, hex } from "./earlier-questions.ts";
import { elicitationCall, elicitationResponse } from "./elicitation.ts";
import type { OpenQuestion, SessionItem } from "./inbox.ts";
import type { ItemQueue } from "./item-queue.ts";
import { PermissionOptions } from "./permission-options.ts";
import { calls, UpdateEvents } from "./update-events.ts";
import { OF_NO_CALL, type UserQuestion, UserQuestions } from "./user-questions.ts";

/** The time in which an agent that says a call runs may still ask about it, in milliseconds. */
const HOLD_MS = 100;

/** The time in which further questions are shown together with the first, in milliseconds. */
const GATHER_MS = 20;
const ALLOWED = "the policy allows it";
const CANCELLED: RequestPermissionOutcome = { outcome: "cancelled" };

/** A question about a call, with what is needed to answer it. */
interface CallQuestion {
  readonly question: OpenQuestion<RequestPermissionOutcome>;
  readonly options: PermissionOptions;
  /** The call as it was when it was decided about. */
  readonly shown: ShownCall;
}

/** What a question of the agent leads to. */
interface PermissionResult {
  readonly updates: readonly CallUpdate[];
  /** Answers it, once the updates are recorded. Undefined when the user is asked. */
  readonly answer?: () => Iterable<AgentEvent>;
}

/** How the agent ended a prompt. */
export type PromptEnd =
  | { readonly case: "stopped"; readonly reason: string }
  | { readonly case: "failed"; readonly reason: unknown };

/** The dependencies of `AcpTurn`. */
export interface AcpTurnOptions {
  readonly turn: Turn;
  readonly session: AcpSession;
  readonly permission: PermissionPolicy | undefined;
  /** The answers of the user that declined a call: an equal call that asks again is declined. */
  readonly declined: readonly ToolCallConfirmation[];
  /** Called for an update of a kind that is not in version 1 of ACP. */
  readonly onUnknown: (kind: string) => void;
}

/** One prompt to the agent, with its questions to the user. */
export class AcpTurn {
  readonly #options: AcpTurnOptions;
  readonly #book: CallBook;
  readonly #updates: UpdateEvents;
  readonly #approvals: Approvals;
  /** The calls that the client makes for the agent now, by the parameters of their questions. */
  readonly #performing = new Map<JsonObject, string>();
  readonly #decision: CallDecision;
  readonly #earlier: EarlierQuestions;
  readonly #questions: UserQuestions;
  /** The call that the agent says it runs, and that may still ask. */
  #held: string | undefined;
  /** The number of questions that are calls of their own. */
  #ownQuestions = 0;

  constructor(options: AcpTurnOptions) {
    const { turn, session, permission, declined, onUnknown } = options;
    this.#options = options;
    const terminalOutput = (id: string): string | undefined => session.terminals.outputOf(id);
    this.#book = new CallBook({ task: () => turn.task, terminalOutput });
    this.#updates = new UpdateEvents(this.#book, onUnknown);
    this.#questions = new UserQuestions(turn.confirmations, this.#book);
    this.#approvals = new Approvals(this.#book, turn.task.settings?.workspacePath ?? "");
    this.#decision = new CallDecision({ turn, book: this.#book, permission, allowsEdits: () => session.allowsEdits });
    const ids = [...openToolCalls(turn.task), ...declined].map(({ toolCallId }) => toolCallId);
    this.#earlier = new EarlierQuestions(turn.task, ids);
    // The answer may come before the agent asks again.
    for (const id of ids) if (this.#stage(id) === ToolCallStage.AWAITING_APPROVAL) turn.confirmations.open(id);
  }

  /** The user's answers that declined a call in this prompt. */
  get declined(): readonly ToolCallConfirmation[] {
    return this.#questions.declined;
  }

  /** Whether the user answered something in this prompt. */
  get wasAnswered(): boolean {
    return this.#questions.wereAnswered;
  }

  /** Sends the prompt and yields what the agent does. Returns how it ended; rejects when the signal aborts. */
  async *run(blocks: ContentBlock[], signal: AbortSignal): AsyncGenerator<AgentEvent, PromptEnd> {
    const { session } = this.#options;
    const queue = session.prompt(blocks);
    for (;;) {
      yield* this.#release(await this.#next(queue, signal));
      const item = await queue.take(signal);
      if (item.case === "stopped") {
        yield* this.#updates.flush();
        yield* this.#drain(queue, signal);
        return { case: "stopped", reason: item.value };
      }
      if (item.case === "failed") {
        yield* this.#updates.flush();
        yield* this.#drain(queue, signal);
        if (session.connection.ended.aborted) yield* this.#outlive(queue, signal);
        return { case: "failed", reason: item.value };
      }
      yield* this.#handle(item, queue, signal);
    }
  }

  /** Waits until the client has done what it does for the agent, which has ended the turn meanwhile. */
  async *#drain(queue: ItemQueue<SessionItem>, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    while (this.#performing.size > 0) {
      const item = await queue.take(signal);
      if (item.case === "performed") yield* this.#performed(item.value);
    }
  }

  /** Waits for the next item while a call is held back. Undefined when none came in time. */
  async #next(queue: ItemQueue<SessionItem>, signal: AbortSignal): Promise<SessionItem | undefined> {
    return this.#held === undefined ? undefined : queue.peek(HOLD_MS, signal);
  }

  /** Says that the held call runs, unless it is about to ask. */
  *#release(next: SessionItem | undefined): Generator<AgentEvent> {
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    const call = next?.case === "permission" ? objectOrEmpty(next.value.params.toolCall) : {};
    if (call.toolCallId !== undefined && this.#book.merge(call, true) === held) return;
    yield* calls(this.#book.executing(held));
  }

  async *#handle(
    item: Exclude<SessionItem, { case: "stopped" | "failed" }>,
    queue: ItemQueue<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    switch (item.case) {
      case "update":
        return yield* this.#update(item.value);
      case "permission":
        yield* this.#updates.flush();
        return yield* this.#permissions(item.value, queue, signal);
      case "elicitation":
        yield* this.#updates.flush();
        return yield* this.#elicitation(item.value, queue, signal);
      case "answered":
        return yield* this.#questions.answer(item.value);
      case "performed":
        return yield* this.#performed(item.value);
      case "withdrawn":
        return yield* this.#questions.withdraw(item.value);
      case "terminal":
        for (const id of this.#book.callsWithTerminal(item.value))
          if (this.#stage(id) === ToolCallStage.EXECUTING) yield* calls(this.#book.executing(id));
        return;
      default:
        item satisfies never;
    }
  }

  *#update(update: SessionItemValue<"update">): Generator<AgentEvent> {
    const isCall = update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update";
    this.#options.session.noteState(update);
    if (!isCall) return yield* this.#updates.of(update);
    // An earlier run of the agent may have asked about this call: its question says so.
    const isPending = update.status === undefined || update.status === null || update.status === "pending";
    const id = this.#book.merge(update, update.sessionUpdate === "tool_call");
    if (id === undefined || (isPending && this.#earlier.areLeft && this.#stage(id) === ToolCallStage.UNSPECIFIED))
      return;
    if (!isPending) this.#earlier.noteReport(id);
    this.#book.appendOutput(id, update);
    const stage = this.#stage(id);
    const mayAsk = stage === ToolCallStage.UNSPECIFIED || stage === ToolCallStage.VALIDATING;
    // Output shows that the call runs; a terminal or a diff is announced before the agent asks, too.
    const hasOutput = listOrEmpty(update.content).some((item) => objectOrEmpty(item).type === "content");
    if (update.status === "in_progress" && !hasOutput && mayAsk) {
      yield* this.#updates.flush();
      yield* calls(this.#book.pending(id));
      this.#held = id;
      return;
    }
    yield* this.#updates.of(update);
  }

  /** Shows the questions that the agent asks at the same time together, so that the user is asked once about all. */
  async *#permissions(
    first: OpenQuestion<RequestPermissionOutcome>,
    queue: ItemQueue<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const gathered = new Set<unknown>();
    const asking: CallUpdate[] = [];
    for (let question: OpenQuestion<RequestPermissionOutcome> | undefined = first; question; ) {
      gathered.add(keyOf(question));
      const { updates, answer } = await this.#permission(question, queue, signal);
      if (answer) yield* calls(updates);
      else asking.push(...updates);
      if (answer) yield* answer();
      if (asking.length === 0) return;
      const following = await queue.peek(GATHER_MS, signal);
      question = undefined;
      if (following?.case !== "permission" || gathered.has(keyOf(following.value))) break;
      await queue.take(signal);
      question = following.value;
    }
    yield* calls(asking);
  }

  /** Decides about a question: returns the versions of its call, and what follows when they are recorded. */
  async #permission(
    question: OpenQuestion<RequestPermissionOutcome>,
    queue: ItemQueue<SessionItem>,
    signal: AbortSignal,
  ): Promise<PermissionResult> {
    const { action, params } = question;
    const options = new PermissionOptions(question.options);
    const call = objectOrEmpty(params.toolCall);
    const { allowed = CANCELLED, rejected } = options;
    if (action && this.#approvals.use(action)) return { updates: [], answer: () => answered(question, allowed) };
    const id = action ? this.#book.begin(call) : this.#book.merge(call, true);
    if (id === undefined) return { updates: [], answer: () => answered(question, CANCELLED) };
    const earlier = this.#earlier.take(id, this.#book.digestOf(id));
    if (earlier !== undefined) this.#book.adopt(id, earlier);
    const asked = { question, options, shown: this.#approvals.show(earlier ?? id) };
    if (earlier !== undefined) return { updates: [], answer: () => this.#askEarlier(asked, queue, signal) };
    const decision = await this.#decision.about(id, action, signal);
    if (action?.case === "read" && decision.case === "allow")
      return { updates: [], answer: () => answered(question, allowed) };
    if (decision.case === "allow" && options.allowed)
      return { updates: this.#book.allowed(id, decision.rule, ALLOWED), answer: () => this.#settle(asked, allowed) };
    if (decision.case === "deny") {
      const { rule, reason } = decision;
      const updates = this.#book.failed(id, "policy_violation", reason, { rule, reason });
      return { updates, answer: () => answered(question, rejected) };
    }
    return this.#askUser(asked, queue, signal);
  }

  /**
   * Asks the user about a call. The question is a call of its own when the call runs or was approved once, and so cannot wait again,
   * and when the user is reading another question about it: an answer is for the question that was shown.
   */
  #askUser(asked: CallQuestion, queue: ItemQueue<SessionItem>, signal: AbortSignal): PermissionResult {
    const { question, options, shown } = asked;
    const { id } = shown;
    const isOwnCall = this.#stage(id) <= ToolCallStage.AWAITING_APPROVAL && !this.#asksOtherwise(id);
    const askId = isOwnCall ? id : this.#book.freeId(`${id}?${++this.#ownQuestions}`);
    this.#questions.ask(askId, { callId: id, answer: this.#answerOf(asked), question }, queue, signal);
    const updates = isOwnCall
      ? this.#book.asking(id, options.shown)
      : [this.#book.askingWhileRunning(id, askId, options.shown)];
    return { updates };
  }

  /** Whether a call waits for the answer to a question about something else than what it is now. */
  #asksOtherwise(id: string): boolean {
    const { digest } = findToolCallDetail(this.#options.turn.task, id) ?? {};
    return this.#questions.has(id) && hex(digest) !== hex(this.#book.digestOf(id));
  }

  /** Answers the question of a call that an earlier run asked already: with its answer, or when the user answers. */
  *#askEarlier(asked: CallQuestion, queue: ItemQueue<SessionItem>, signal: AbortSignal): Generator<AgentEvent> {
    const { question, options, shown } = asked;
    const { id } = shown;
    const stage = this.#stage(id);
    const chosen = findToolCallDetail(this.#options.turn.task, id)?.selectedOptionId ?? OPTION_CANCEL;
    if (stage === ToolCallStage.AWAITING_APPROVAL)
      this.#questions.ask(id, { callId: id, answer: this.#answerOf(asked), question }, queue, signal);
    else yield* this.#settle(asked, options.outcome(stage === ToolCallStage.CANCELLED ? OPTION_CANCEL : chosen));
  }

  #answerOf(asked: CallQuestion): UserQuestion["answer"] {
    return ({ selectedOptionId }) => this.#settle(asked, asked.options.outcome(selectedOptionId));
  }

  /**
   * Answers a question about a call. A call that may run is recorded as one that runs before anybody can run it: after a
   * crash it is not taken for one that still waits.
   */
  *#settle({ question, options, shown }: CallQuestion, outcome: RequestPermissionOutcome): Generator<AgentEvent> {
    const { session } = this.#options;
    const reach = options.reachOf(outcome);
    // An agent that has ended asks again, and gets the answer then.
    if (session.connection.ended.aborted) return question.answer(outcome);
    if (reach) {
      this.#approvals.add(shown);
      if (reach === "always" && shown.kind === "edit") session.allowsEdits = true;
      if (question.action) this.#performing.set(question.params, shown.id);
      yield* calls(this.#book.executing(shown.id));
    }
    question.answer(outcome);
  }

  *#performed({ params, error }: SessionItemValue<"performed">): Generator<AgentEvent> {
    const id = this.#performing.get(params);
    if (id === undefined) return;
    this.#performing.delete(params);
    yield* calls(error === undefined ? this.#book.succeeded(id) : this.#book.failed(id, "execution_failed", error));
  }

  async *#elicitation(
    question: OpenQuestion<CreateElicitationResponse>,
    queue: ItemQueue<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const { turn } = this.#options;
    const id = this.#book.freeId(`${OF_NO_CALL}${turn.task.sequence}-${++this.#ownQuestions}`);
    const update = elicitationCall(id, question.params);
    if (!update) return question.answer({ action: "decline" });
    turn.confirmations.open(id);
    yield* calls([update]);
    const respond = (confirmation: ToolCallConfirmation): Iterable<AgentEvent> =>
      answered(question, elicitationResponse(question.params, confirmation, turn.task));
    this.#questions.ask(id, { callId: id, answer: respond, question }, queue, signal);
  }

  /** The agent has ended: what ran has an unknown outcome, what is asked stays asked until the user has answered. */
  async *#outlive(queue: ItemQueue<SessionItem>, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    for (const id of this.#book.open()) {
      if (this.#stage(id) !== ToolCallStage.EXECUTING) continue;
      yield* calls(this.#book.failed(id, "interrupted", "the agent ended while the call ran: its outcome is unknown"));
    }
    yield* this.#questions.dropOwnCalls();
    while (this.#questions.areOpen) {
      const item = await queue.take(signal);
      if (item.case === "answered") yield* this.#questions.answer(item.value);
    }
  }

  #stage(id: string): ToolCallStage {
    return findToolCallDetail(this.#options.turn.task, id)?.stage ?? ToolCallStage.UNSPECIFIED;
  }
}

type SessionItemValue<Case extends SessionItem["case"]> = Extract<SessionItem, { case: Case }>["value"];

function answered<Answer>(question: OpenQuestion<Answer>, value: Answer): readonly AgentEvent[] {
  question.answer(value);
  return [];
}

/** What tells the questions apart that are asked at the same time. */
function keyOf(question: OpenQuestion<RequestPermissionOutcome>): unknown {
  return objectOrEmpty(question.params.toolCall).toolCallId ?? question;
}
