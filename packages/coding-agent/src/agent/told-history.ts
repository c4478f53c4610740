import { type Message, Role, summaryOf } from "@devtool/schema";
import { historySince } from "./history.ts";
import { isQuestion, questionsIn, withoutQuestionsIn } from "./questions.ts";

/** A conversation as its model is told it. */
export interface Told {
  /** All of it, without the questions of running calls. */
  readonly all: readonly Message[];
  /** From its last summary on (`modelHistory`); all of it where nothing was summarized. */
  readonly recent: readonly Message[];
}

/** Keeps what models are told of the conversations before tasks, for the next task that goes on from one (STREAM-5). */
export class ToldConversations {
  /** By the first message: the tasks of a conversation share the messages before them. */
  readonly #told = new WeakMap<Message, ToldHistory>();

  /** A history that has looked at what stands before a task; at what no other task had before it, and nothing else. */
  after(earlier: readonly Message[]): ToldHistory {
    const [first] = earlier;
    if (!first) return new ToldHistory();
    const known = this.#told.get(first) ?? new ToldHistory();
    known.of(earlier);
    this.#told.set(first, known);
    return known.copy();
  }
}

/**
 * Makes what a model is told of one task's conversation, looking only at what is new. What stands before the agent's last
 * step does not change any more, so it is kept as it was told before. Without that a step would cost as much as the
 * conversation is long, half a millisecond for 3,000 turns.
 */
export class ToldHistory {
  readonly #questions = new Set<string>();
  /** What the settled messages were told as, and where summaries are among them. */
  #settled: Message[] = [];
  #summaries: number[] = [];
  /** The first and the last of the settled messages, by which the conversation is known again. */
  #first: Message | undefined;
  #last: Message | undefined;

  /** What a model is told of a conversation: one that grew since the last call, or another. */
  of(conversation: readonly Message[]): Told {
    if (!this.#isContinuedBy(conversation)) this.#forget();
    const fresh = conversation.slice(this.#settled.length);
    for (const id of questionsIn(fresh)) this.#questions.add(id);
    const told = withoutQuestionsIn(fresh, this.#questions);
    const added = told.flatMap((message, index) => (summaryOf(message) ? [this.#settled.length + index] : []));
    const all = [...this.#settled, ...told];
    const summaries = [...this.#summaries, ...added];
    this.#settle(conversation, { all, summaries });
    return { all, recent: historySince(all, summaries) };
  }

  /** One that goes on from here by itself. */
  copy(): ToldHistory {
    const copy = new ToldHistory();
    for (const id of this.#questions) copy.#questions.add(id);
    copy.#settled = [...this.#settled];
    copy.#summaries = this.#summaries;
    copy.#first = this.#first;
    copy.#last = this.#last;
    return copy;
  }

  #isContinuedBy(conversation: readonly Message[]): boolean {
    const count = this.#settled.length;
    return count === 0 || (conversation[0] === this.#first && conversation[count - 1] === this.#last);
  }

  #forget(): void {
    this.#settled = [];
    this.#summaries = [];
    this.#questions.clear();
  }

  #settle(
    conversation: readonly Message[],
    { all, summaries }: { readonly all: readonly Message[]; readonly summaries: readonly number[] },
  ): void {
    const count = conversation.findLastIndex(({ role, parts }) => role === Role.AGENT && !parts.every(isQuestion));
    if (count <= this.#settled.length) return;
    this.#settled.push(...all.slice(this.#settled.length, count));
    this.#summaries = summaries.filter((index) => index < count);
    this.#first = conversation[0];
    this.#last = conversation[count - 1];
  }
}
