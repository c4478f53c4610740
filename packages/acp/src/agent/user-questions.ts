import type { Arrivals } from "@devtool/internal/arrivals";
import {
  answerText,
  OPTION_CANCEL,
  type Task,
  type ToolCallConfirmation,
} from "@devtool/schema";
import {
  type AgentEvent,
  ANSWERED,
  CANCELLED,
  type Turn,
} from "@devtool/server/agent";
import type { CallBook } from "./call-book.ts";
import type { OpenQuestion, SessionItem } from "./inbox.ts";
import { calls } from "./update-events.ts";

/**
 * The prefix of the ids of questions that are not about a call of the agent.
 */
export const OF_NO_CALL = "question-";

/**
 * Returns what the user said beside answers about calls, each text once. A
 * permission request cannot carry it.
 */
export function wordsBeside(
  answers: readonly ToolCallConfirmation[],
  task: Task,
): string[] {
  const texts = answers
    .filter(({ toolCallId }) => !toolCallId.startsWith(OF_NO_CALL))
    .map(({ toolCallId }) => answerText(task, toolCallId));
  return [...new Set(texts)].filter((text) => text.trim() !== "");
}

/** A question to the user that is open. */
export interface UserQuestion {
  /** The id of the call that the question is about. */
  readonly callId: string;
  /** Answers the agent. */
  readonly answer: (confirmation: ToolCallConfirmation) => Iterable<AgentEvent>;
  /** The question of the agent. */
  readonly question: OpenQuestion<never>;
}

/** The questions to the user in one turn. */
export class UserQuestions {
  readonly #confirmations: Turn["confirmations"];
  readonly #book: CallBook;
  /** The open questions by the id of the call in our task that asks. */
  readonly #open = new Map<string, UserQuestion>();
  readonly #answers: ToolCallConfirmation[] = [];
  /** The number of questions that are calls of their own. */
  #ownCalls = 0;

  constructor(confirmations: Turn["confirmations"], book: CallBook) {
    this.#confirmations = confirmations;
    this.#book = book;
  }

  /** The answers that declined a call. */
  get declined(): readonly ToolCallConfirmation[] {
    return this.#answers.filter(
      ({ selectedOptionId }) => selectedOptionId === OPTION_CANCEL,
    );
  }

  /** The answers that the user gave. */
  get answers(): readonly ToolCallConfirmation[] {
    return this.#answers;
  }

  get wereAnswered(): boolean {
    return this.#answers.length > 0;
  }

  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Whether the call of our task asks. */
  has(id: string): boolean {
    return this.#open.has(id);
  }

  /**
   * Returns the id of a question that is a call of its own: a prefix and a
   * number.
   */
  freeId(prefix: string): string {
    return this.#book.freeId(`${prefix}${++this.#ownCalls}`);
  }

  /**
   * Waits for the user's answer beside the agent. The item `answered` follows.
   */
  ask(
    id: string,
    asked: UserQuestion,
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): void {
    this.#open.set(id, asked);
    this.#confirmations.wait(id, signal).then(
      (value) => queue.put({ case: "answered", value }),
      () => undefined,
    );
  }

  /**
   * Answers the agent. A question that is a call of its own has no other work
   * than that.
   */
  *answer(confirmation: ToolCallConfirmation): Generator<AgentEvent> {
    const { toolCallId, selectedOptionId } = confirmation;
    const asked = this.#open.get(toolCallId);
    if (!asked) return;
    this.#open.delete(toolCallId);
    this.#answers.push(confirmation);
    yield* asked.answer(confirmation);
    const isOwnCall =
      asked.callId !== toolCallId || toolCallId.startsWith(OF_NO_CALL);
    if (isOwnCall && selectedOptionId !== OPTION_CANCEL) {
      yield* calls(this.#book.call(toolCallId).ended(ANSWERED));
    }
  }

  /** Closes a question that the agent has taken back. */
  *withdraw(question: OpenQuestion<unknown>): Generator<AgentEvent> {
    for (const [id, asked] of this.#open) {
      if (asked.question.params === question.params) yield* this.#close(id);
    }
  }

  /**
   * Closes the questions that are calls of their own: an agent that has ended
   * does not ask them again.
   */
  *dropOwnCalls(): Generator<AgentEvent> {
    for (const [id, { callId }] of this.#open) {
      if (callId !== id || id.startsWith(OF_NO_CALL)) yield* this.#close(id);
    }
  }

  *#close(id: string): Generator<AgentEvent> {
    this.#open.delete(id);
    yield* calls(this.#book.call(id).ended(CANCELLED));
  }
}
