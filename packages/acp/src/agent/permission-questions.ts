import type { RequestPermissionOutcome } from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Arrivals } from "@devtool/internal/arrivals";
import { objectOrEmpty } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  type ConfirmationOption,
  findToolCallDetail,
  OPTION_CANCEL,
  ToolCallStage,
} from "@devtool/schema";
import type {
  AgentEvent,
  CallUpdate,
  PermissionPolicy,
  Turn,
} from "@devtool/server/agent";
import type { AcpSession } from "./acp-session.ts";
import { Approvals, type ShownCall } from "./approvals.ts";
import type { CallBook } from "./call-book.ts";
import { CallDecision } from "./call-decision.ts";
import type { EarlierQuestions } from "./earlier-questions.ts";
import type { OpenQuestion, SessionItem } from "./inbox.ts";
import { PermissionOptions } from "./permission-options.ts";
import { calls, notice } from "./update-events.ts";
import type { UserQuestion, UserQuestions } from "./user-questions.ts";

/**
 * The time in which further questions are shown together with the first, in
 * milliseconds.
 */
const GATHER_MS = 20;
/** The maximum number of options of a question that are named as left out. */
const MAX_TOLD = 20;
/** What an answer that always allows covers, for a call that was shown so. */
const FILES =
  "later changes of files in this conversation, unless a rule asks about them";
const ALLOWED = "the policy allows it";
const CANCELLED: RequestPermissionOutcome = { outcome: "cancelled" };

/** A question about a call, with what is needed to answer it. */
interface CallQuestion {
  readonly question: OpenQuestion<RequestPermissionOutcome>;
  readonly options: PermissionOptions;
  /** The options as the user is shown them. */
  readonly offered: ConfirmationOption[];
  /** The call as it was when it was decided about. */
  readonly shown: ShownCall;
}

/** The outcome of a question of the agent. */
interface PermissionResult {
  readonly updates: readonly CallUpdate[];
  /**
   * Answers it, once the updates are recorded. Undefined when the user is
   * asked.
   */
  readonly answer?: () => Iterable<AgentEvent>;
}

/** The dependencies of `PermissionQuestions`. */
export interface PermissionQuestionsOptions {
  readonly turn: Turn;
  readonly session: AcpSession;
  readonly permission: PermissionPolicy | undefined;
  readonly book: CallBook;
  readonly questions: UserQuestions;
  readonly earlier: EarlierQuestions;
}

type Performed = Extract<SessionItem, { case: "performed" }>["value"];

/**
 * The questions of the agent in one turn whether a call may run, and the calls
 * that the client makes for it.
 */
export class PermissionQuestions {
  readonly #options: PermissionQuestionsOptions;
  readonly #approvals: Approvals;
  readonly #decision: CallDecision;
  /**
   * The calls that the client makes for the agent now, by the parameters of
   * their questions.
   */
  readonly #performing = new Map<JsonObject, string>();

  constructor(options: PermissionQuestionsOptions) {
    this.#options = options;
    const { turn, session, book } = options;
    this.#approvals = new Approvals(
      book,
      turn.task.settings?.workspacePath ?? "",
    );
    this.#decision = new CallDecision({
      ...options,
      allowsEdits: () => session.allowsEdits,
    });
  }

  /** Whether the client makes a call for the agent now. */
  get arePerforming(): boolean {
    return this.#performing.size > 0;
  }

  /**
   * Shows the questions that the agent asks at the same time together, so that
   * the user is asked once about all.
   */
  async *ask(
    first: OpenQuestion<RequestPermissionOutcome>,
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const gathered = new Set<unknown>();
    const asking: CallUpdate[] = [];
    let question = first;
    for (;;) {
      gathered.add(keyOf(question));
      const options = new PermissionOptions(question.params.options);
      yield* unusable(options);
      const { updates, answer } = await this.#decide(
        question,
        options,
        queue,
        signal,
      );
      if (answer) {
        yield* calls(updates);
        yield* answer();
      } else {
        asking.push(...updates);
      }
      if (asking.length === 0) return;
      const following = await queue.peek(GATHER_MS, signal);
      if (
        following?.case !== "permission" ||
        gathered.has(keyOf(following.value))
      ) {
        break;
      }
      await queue.take(signal);
      question = following.value;
    }
    yield* calls(asking);
  }

  /**
   * Decides about a question: returns the versions of its call, and what
   * follows when they are recorded.
   */
  async #decide(
    question: OpenQuestion<RequestPermissionOutcome>,
    options: PermissionOptions,
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): Promise<PermissionResult> {
    const { action, params } = question;
    const call = objectOrEmpty(params.toolCall);
    const { allowed = CANCELLED, rejected } = options;
    if (action && this.#approvals.use(action)) {
      return { updates: [], answer: () => answered(question, allowed) };
    }
    const { book, earlier: questions } = this.#options;
    const id = action ? book.begin(call) : book.announce(call);
    if (id === undefined) {
      const text =
        "The agent asked about a call without an id: it was told that the question was canceled.";
      return {
        updates: [],
        answer: () => [notice(text), ...answered(question, CANCELLED)],
      };
    }
    const { changes } = this.#approvals.show(id);
    const offered = options.shown(changes.length > 0 ? FILES : "");
    const named = book.call(id);
    const digest = named.digest(named.request(offered));
    const earlier = questions.take(id, digest);
    if (earlier !== undefined) book.adopt(id, earlier);
    const asked = {
      question,
      options,
      offered,
      shown: this.#approvals.show(earlier ?? id),
    };
    if (earlier !== undefined) {
      return {
        updates: [],
        answer: () => this.#askEarlier(asked, queue, signal),
      };
    }
    const decision = await this.#decision.about(id, action, signal);
    if (action?.case === "read" && decision.case === "allow") {
      return { updates: [], answer: () => answered(question, allowed) };
    }
    if (decision.case === "allow" && options.allowed) {
      return {
        updates: book.call(id).allowed(decision.rule, ALLOWED),
        answer: () => this.#settle(asked, allowed),
      };
    }
    if (decision.case === "deny") {
      const { rule, reason } = decision;
      const updates = book
        .call(id)
        .failed("policy_violation", reason, { rule, reason });
      return { updates, answer: () => answered(question, rejected) };
    }
    return this.#askUser(asked, queue, signal);
  }

  /**
   * Asks the user about a call. The question is a call of its own when the call
   * runs or was approved once, and so cannot wait again, and when the user is
   * reading another question about it, also one in the same words: an answer is
   * for the question that was shown.
   */
  #askUser(
    asked: CallQuestion,
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): PermissionResult {
    const { question, offered, shown } = asked;
    const { id } = shown;
    const call = this.#options.book.call(id);
    const isOwnCall =
      call.stage <= ToolCallStage.AWAITING_APPROVAL &&
      !this.#options.questions.has(id);
    const askId = isOwnCall ? id : this.#options.questions.freeId(`${id}?`);
    this.#options.questions.ask(
      askId,
      { callId: id, answer: this.#answerOf(asked), question },
      queue,
      signal,
    );
    const updates = isOwnCall
      ? call.asking(call.request(offered))
      : call.askingApart(askId, call.request(offered));
    return { updates };
  }

  /**
   * Answers the question of a call that an earlier run asked already: with its
   * answer, or when the user answers.
   */
  *#askEarlier(
    asked: CallQuestion,
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): Generator<AgentEvent> {
    const { question, options, shown } = asked;
    const { id } = shown;
    const { stage } = this.#options.book.call(id);
    const chosen =
      findToolCallDetail(this.#options.turn.task, id)?.selectedOptionId ??
      OPTION_CANCEL;
    if (stage === ToolCallStage.AWAITING_APPROVAL) {
      this.#options.questions.ask(
        id,
        { callId: id, answer: this.#answerOf(asked), question },
        queue,
        signal,
      );
    } else {
      yield* this.#settle(
        asked,
        options.outcome(
          stage === ToolCallStage.CANCELLED ? OPTION_CANCEL : chosen,
        ),
      );
    }
  }

  #answerOf(asked: CallQuestion): UserQuestion["answer"] {
    return ({ selectedOptionId }) =>
      this.#settle(asked, asked.options.outcome(selectedOptionId));
  }

  /**
   * Answers a question about a call. A call that may run is recorded as one
   * that runs before anybody can run it: after a crash it is not taken for one
   * that still waits.
   */
  *#settle(
    { question, options, shown }: CallQuestion,
    outcome: RequestPermissionOutcome,
  ): Generator<AgentEvent> {
    const reach = options.reachOf(outcome);
    const { session, book } = this.#options;
    // An agent that has ended asks again, and gets the answer then.
    if (session.connection.ended.aborted) return question.answer(outcome);
    if (reach) {
      this.#approvals.add(shown);
      // Only a call that was shown with its changes counts: an agent may give
      // any call the kind "edit".
      if (reach === "always" && shown.changes.length > 0) {
        session.allowsEdits = true;
      }
      if (question.action) this.#performing.set(question.params, shown.id);
      yield* calls(book.call(shown.id).executing());
    }
    question.answer(outcome);
  }

  /** Records the end of a call that the client made for the agent. */
  *performed({ params, error }: Performed): Generator<AgentEvent> {
    const id = this.#performing.get(params);
    if (id === undefined) return;
    this.#performing.delete(params);
    const call = this.#options.book.call(id);
    yield* calls(
      error === undefined
        ? call.succeeded()
        : call.failed("execution_failed", error),
    );
  }
}

/** Tells the user of the options that are left out. */
function* unusable({ leftOut }: PermissionOptions): Generator<AgentEvent> {
  const odd = leftOut.slice(0, MAX_TOLD);
  for (const option of odd) {
    yield notice(
      `The agent offers an answer that cannot be used, which is left out: ${oneLine(JSON.stringify(option), 80)}`,
    );
  }
  const more = leftOut.length - odd.length;
  if (more > 0) yield notice(`${more} more of its answers are left out.`);
}

function answered<Answer>(
  question: OpenQuestion<Answer>,
  value: Answer,
): readonly AgentEvent[] {
  question.answer(value);
  return [];
}

/**
 * Returns the key that distinguishes questions that are open at the same time.
 */
function keyOf(question: OpenQuestion<RequestPermissionOutcome>): unknown {
  return objectOrEmpty(question.params.toolCall).toolCallId ?? question;
}
