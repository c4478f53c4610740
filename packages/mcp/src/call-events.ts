import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type {
  Answer,
  Question,
  SampleRequest,
  SampleResponse,
  ToolEvent,
} from "@devtool/coding-agent/tool";
import { abortable } from "@devtool/internal/abortable";
import { keepStart } from "@devtool/internal/cut-text";
import { ToolCallDetailSchema, ToolCallProgressSchema } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { CallDeadline } from "./call-deadline.ts";

/**
 * The effects that a server may have on one of its calls while the call runs.
 */
export interface CallHooks {
  /** Reports progress. `total` is 0 when it is unknown; `text` may be empty. */
  progress(done: number, total: number, text: string): void;
  /** Restarts the timeout of the call: its server works on, and says so. */
  keepAlive(): void;
  /**
   * Records the task that its server made of the call. Resolves when the log
   * has it: a restart then finds the task again.
   */
  recordTask(task: {
    readonly mcpServer: string;
    readonly taskId: string;
    readonly expireTime?: Timestamp;
  }): Promise<void>;
  /**
   * Asks the user. Rejects when the call ends or `withdrawn` aborts before the
   * user answers: the user is not asked any longer.
   */
  ask(question: Question, withdrawn: AbortSignal): Promise<Answer>;
  /**
   * Asks the agent's model. Rejects with its errors, and when the call ends or
   * `withdrawn` aborts before.
   */
  sample(
    request: SampleRequest,
    withdrawn: AbortSignal,
  ): Promise<SampleResponse>;
}

/**
 * The minimum time between two progress events, in milliseconds: each becomes a
 * record in the task's log.
 */
const PROGRESS_MS = 200;

/** The maximum length of the text of a progress event, in characters. */
const MAX_PROGRESS_LENGTH = 1000;

/**
 * Turns what a server does to its call into the events of the call.
 *
 * Iterate over it once. It ends after the result. Progress that has not been
 * read yet is replaced by newer progress.
 */
export class CallEvents implements CallHooks, AsyncIterable<ToolEvent> {
  readonly #deadline: CallDeadline;
  readonly #signal: AbortSignal;
  readonly #now: () => number;
  readonly #finished = new AbortController();
  readonly #ready: ToolEvent[] = [];
  #progress: ToolEvent | undefined;
  #shownAtMs = Number.NEGATIVE_INFINITY;
  #isDone = false;
  readonly #recorded = Promise.withResolvers<void>();
  #wake = Promise.withResolvers<void>();

  /**
   * Creates the events of a call.
   *
   * Progress restarts `deadline`, and questions pause it. `now` is the clock,
   * in milliseconds. Questions reject when `signal` aborts, and when the call
   * has a result.
   */
  constructor(deadline: CallDeadline, now: () => number, signal: AbortSignal) {
    this.#deadline = deadline;
    this.#now = now;
    this.#signal = signal;
  }

  progress(done: number, total: number, text: string): void {
    this.#deadline.restart();
    this.#progress = {
      case: "progress",
      value: create(ToolCallProgressSchema, {
        done,
        total,
        text: keepStart(text, MAX_PROGRESS_LENGTH),
      }),
    };
    this.#wake.resolve();
  }

  keepAlive(): void {
    this.#deadline.restart();
  }

  async recordTask(
    delegation: Parameters<CallHooks["recordTask"]>[0],
  ): Promise<void> {
    const { delegation: value } = create(ToolCallDetailSchema, { delegation });
    if (value) this.#push({ case: "delegation", value });
    await abortable(this.#recorded.promise, this.#signal);
  }

  async ask(question: Question, withdrawn: AbortSignal): Promise<Answer> {
    return await this.#wait<Answer>(withdrawn, (reply, over) => ({
      case: "question",
      value: question,
      reply,
      withdrawn: over,
    }));
  }

  async sample(
    request: SampleRequest,
    withdrawn: AbortSignal,
  ): Promise<SampleResponse> {
    return await this.#wait<SampleResponse>(withdrawn, (reply, over) => ({
      case: "sample",
      value: request,
      reply,
      withdrawn: over,
    }));
  }

  /** Adds an event, and waits for the reply to it without the deadline. */
  async #wait<Reply>(
    withdrawn: AbortSignal,
    asking: (
      reply: (value: Reply | Promise<Reply>) => void,
      over: AbortSignal,
    ) => ToolEvent,
  ): Promise<Reply> {
    using _paused = this.#deadline.pause();
    const { promise, resolve } = Promise.withResolvers<Reply>();
    const over = AbortSignal.any([
      withdrawn,
      this.#signal,
      this.#finished.signal,
    ]);
    this.#push(asking(resolve, over));
    return await abortable(promise, over);
  }

  /** Adds the result, which is the last event. */
  finish(result: ToolEvent): void {
    this.#progress = undefined;
    this.#isDone = true;
    this.#push(result);
    this.#finished.abort(
      new DevtoolError("the call has ended", Code.FailedPrecondition),
    );
  }

  async *[Symbol.asyncIterator](): AsyncIterator<ToolEvent> {
    while (!this.#isDone || this.#ready.length > 0) {
      this.#wake = Promise.withResolvers();
      const progress = this.#progress;
      const waitMs = this.#shownAtMs + PROGRESS_MS - this.#now();
      if (this.#ready.length > 0) {
        for (const event of this.#ready.splice(0)) {
          yield event;
          // Whoever asks for the next event has this one in the log.
          if (event.case === "delegation") this.#recorded.resolve();
        }
      } else if (progress && waitMs <= 0) {
        this.#progress = undefined;
        this.#shownAtMs = this.#now();
        yield progress;
      } else {
        // Waits for a new event, but no longer than until the progress that is
        // held back may be shown.
        const timer = progress && setTimeout(this.#wake.resolve, waitMs);
        await this.#wake.promise;
        clearTimeout(timer);
      }
    }
  }

  #push(event: ToolEvent): void {
    this.#ready.push(event);
    this.#wake.resolve();
  }
}
