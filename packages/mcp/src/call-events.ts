import { create } from "@bufbuild/protobuf";
import type { Answer, Question, ToolEvent } from "@devtool/coding-agent/tool";
import { ToolCallProgressSchema } from "@devtool/schema";
import { abortable } from "@devtool/server/agent";
import type { CallDeadline } from "./call-deadline.ts";
import type { CallHooks } from "./call-hooks.ts";

/** Progress is shown at most this often, whatever the server sends: each is a record of the task's log. */
const PROGRESS_MS = 200;

/** What the events of a call are made with. */
export interface CallEventsOptions {
  /** Is given the whole time again by progress, and stands still while the user is asked. */
  readonly deadline: CallDeadline;
  readonly now: () => number;
}

/** Turns what a server does to its call into the events of the call. Progress that nobody took is replaced by newer. */
export class CallEvents implements CallHooks, AsyncIterable<ToolEvent> {
  readonly #deadline: CallDeadline;
  readonly #signal: AbortSignal;
  readonly #now: () => number;
  readonly #ready: ToolEvent[] = [];
  #progress: ToolEvent | undefined;
  #shownAtMs = Number.NEGATIVE_INFINITY;
  #isDone = false;
  #wake = Promise.withResolvers<void>();

  /** The signal ends what is asked. */
  constructor({ deadline, now }: CallEventsOptions, signal: AbortSignal) {
    this.#deadline = deadline;
    this.#now = now;
    this.#signal = signal;
  }

  progress(done: number, total: number, text: string): void {
    this.#deadline.restart();
    this.#progress = { case: "progress", value: create(ToolCallProgressSchema, { done, total, text }) };
    this.#wake.resolve();
  }

  async ask(question: Question): Promise<Answer> {
    using _paused = this.#deadline.pause();
    const answer = Promise.withResolvers<Answer>();
    this.#push({ case: "question", value: question, reply: answer.resolve });
    return await abortable(answer.promise, this.#signal);
  }

  /** Gives the result: the last event. */
  finish(result: ToolEvent): void {
    this.#progress = undefined;
    this.#isDone = true;
    this.#push(result);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<ToolEvent> {
    while (!this.#isDone || this.#ready.length > 0) {
      this.#wake = Promise.withResolvers();
      const waitMs = this.#progress === undefined ? undefined : this.#shownAtMs + PROGRESS_MS - this.#now();
      if (this.#ready.length > 0) yield* this.#ready.splice(0);
      else if (waitMs !== undefined && waitMs <= 0) yield* this.#takeProgress();
      else await this.#woken(waitMs);
    }
  }

  *#takeProgress(): Iterable<ToolEvent> {
    const progress = this.#progress;
    this.#progress = undefined;
    this.#shownAtMs = this.#now();
    if (progress) yield progress;
  }

  /** Waits for something new, and for no longer than until held back progress may be shown. */
  async #woken(waitMs: number | undefined): Promise<void> {
    const timer = waitMs === undefined ? undefined : setTimeout(this.#wake.resolve, waitMs);
    await this.#wake.promise;
    clearTimeout(timer);
  }

  #push(event: ToolEvent): void {
    this.#ready.push(event);
    this.#wake.resolve();
  }
}
