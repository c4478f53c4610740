import { type Message, Role, summaryOf } from "@devtool/schema";
import { historySince } from "./history.ts";
import { findQuestions, isQuestion, removeQuestions } from "./questions.ts";

/** A conversation in the form that a model gets it. */
export interface ModelConversation {
  /** The whole conversation, without the questions of running tools. */
  readonly all: readonly Message[];
  /**
   * The messages from the last summary on (`modelHistory`). Equal to `all` when
   * there is no summary.
   */
  readonly recent: readonly Message[];
}

/**
 * Keeps the prepared history of earlier conversations for the next task that
 * continues one of them (STREAM-5).
 */
export class HistoryCache {
  /** By the first message, which all tasks of a conversation share. */
  readonly #histories = new WeakMap<Message, IncrementalHistory>();

  /**
   * Returns a history that has already processed the messages before a task.
   *
   * Processes only the messages that no earlier task of the conversation had
   * before it.
   */
  startAfter(earlier: readonly Message[]): IncrementalHistory {
    const [first] = earlier;
    if (!first) return new IncrementalHistory();
    const cached = this.#histories.get(first) ?? new IncrementalHistory();
    cached.update(earlier);
    this.#histories.set(first, cached);
    return cached.copy();
  }
}

/**
 * Prepares the conversation of one task for its model, and processes only the
 * new messages each time.
 *
 * The messages before the agent's last step do not change any more, so their
 * prepared form is kept. Without this, every step would take time proportional
 * to the length of the conversation: half a millisecond for 3,000 turns.
 */
export class IncrementalHistory {
  /** The call ids of the questions found so far. */
  readonly #questions = new Set<string>();
  /** The prepared form of the messages that do not change any more. */
  #settled: Message[] = [];
  /** The indexes of the summaries in `#settled`. */
  #summaries: number[] = [];
  /**
   * The first and the last original message of `#settled`, which identify the
   * conversation.
   */
  #first: Message | undefined;
  #last: Message | undefined;

  /**
   * Prepares a conversation: the one of the last call, possibly with more
   * messages, or another one.
   */
  update(conversation: readonly Message[]): ModelConversation {
    const count = this.#settled.length;
    const isSame =
      count === 0 ||
      (conversation[0] === this.#first &&
        conversation[count - 1] === this.#last);
    if (!isSame) {
      this.#settled = [];
      this.#summaries = [];
      this.#questions.clear();
    }
    const added = conversation.slice(this.#settled.length);
    for (const id of findQuestions(added)) this.#questions.add(id);
    const all = [...this.#settled, ...removeQuestions(added, this.#questions)];
    const summaries = [...this.#summaries];
    for (let index = this.#settled.length; index < all.length; index++) {
      const message = all[index];
      if (message && summaryOf(message)) summaries.push(index);
    }
    // What comes before the agent's last step does not change any more.
    const stable = conversation.findLastIndex(
      ({ role, parts }) => role === Role.AGENT && !parts.every(isQuestion),
    );
    if (stable > this.#settled.length) {
      this.#settled.push(...all.slice(this.#settled.length, stable));
      this.#summaries = summaries.filter((index) => index < stable);
      this.#first = conversation[0];
      this.#last = conversation[stable - 1];
    }
    return { all, recent: historySince(all, summaries) };
  }

  /** Returns a copy that is updated independently of this one. */
  copy(): IncrementalHistory {
    const copy = new IncrementalHistory();
    for (const id of this.#questions) copy.#questions.add(id);
    copy.#settled = [...this.#settled];
    copy.#summaries = this.#summaries;
    copy.#first = this.#first;
    copy.#last = this.#last;
    return copy;
  }
}
