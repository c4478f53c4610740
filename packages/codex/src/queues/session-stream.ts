import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { abortable } from "@devtool/internal/abortable";
import {
  CancelTaskRequestSchema,
  isAtRest,
  type SendMessageRequest,
  SubscribeTaskRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
} from "@devtool/schema";
import {
  type ConfigureSession,
  type OpenSessionRequest,
  type SessionEvent,
  SessionEventSchema,
  type Submission,
} from "@devtool/schema/codex";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import { findTask, type RequestHandler } from "@devtool/server/dialect";
import { errorEvent, inClientsWords, OPS } from "./errors.ts";
import { type EventPlace, isAfter, parsePlace } from "./place.ts";
import { answerRequest, inputRequest } from "./requests.ts";
import { SessionEvents } from "./session-events.ts";

/**
 * One stream over a session: what its client submits, and what happens in the
 * session.
 */
export class SessionStream {
  readonly #handler: RequestHandler;
  readonly #context: HandlerContext;
  readonly #stop: AbortController;
  readonly #opened = Promise.withResolvers<Task>();
  #configuration: ConfigureSession | undefined;
  #resumeAfter: EventPlace | undefined;
  /** The task of the session; empty before its first input. */
  #taskId = "";
  #submitted = Promise.withResolvers<void>();
  /** The last event that was read. */
  #last: TaskEvent | undefined;
  /**
   * The sequence that ends the stream once the session rests. Undefined while
   * the client submits.
   */
  #end: bigint | undefined;
  #isClosing = false;

  /** @param stop aborts the signal of the context */
  constructor(
    handler: RequestHandler,
    context: HandlerContext,
    stop: AbortController,
  ) {
    this.#handler = handler;
    this.#context = context;
    this.#stop = stop;
  }

  /**
   * Handles the submissions of the client one after the other, and yields the
   * events that answer them.
   */
  async *submit(
    requests: AsyncIterable<OpenSessionRequest>,
  ): AsyncGenerator<SessionEvent> {
    const iterator = requests[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await abortable(
          iterator.next(),
          this.#context.signal,
        );
        if (done) {
          // Ends the stream now if nothing is left to show, or else when the
          // session rests.
          if (this.#taskId !== "") {
            this.#end = (await this.#find(this.#taskId)).sequence;
          }
          if (this.#taskId === "" || this.#isOver()) this.#close();
          return;
        }
        const event = this.#configuration
          ? await this.#handle(value.submission)
          : await this.#configure(value.submission);
        if (event) yield event;
      }
    } catch (reason) {
      if (this.#isClosing) return;
      throw this.#fail(reason);
    }
  }

  /** Yields what happens in the session, once it is known. */
  async *follow(): AsyncGenerator<SessionEvent> {
    const { signal } = this.#context;
    try {
      const { id, settings, sessionSettings } = await abortable(
        this.#opened.promise,
        signal,
      );
      const value = {
        sessionId: id,
        cwd: settings?.workspacePath ?? "",
        model: sessionSettings?.model ?? "",
      };
      yield create(SessionEventSchema, {
        msg: { case: "sessionConfigured", value },
      });
      const events = new SessionEvents();
      while (!this.#isOver()) {
        const submitted = this.#submitted.promise;
        const request = create(SubscribeTaskRequestSchema, {
          taskId: this.#taskId,
          // From the beginning, also to resume: an event is shown by what it
          // adds to those before it.
          afterSequence: this.#last?.sequence ?? 0n,
        });
        for await (const { event: init } of this.#handler.tasks.subscribeTask(
          request,
          this.#context,
        )) {
          if (!init) continue;
          const event = create(TaskEventSchema, init);
          for (const { place, shown } of events.receive(event)) {
            if (isAfter(place, this.#resumeAfter)) yield shown;
          }
          this.#last = event;
          if (this.#isOver()) return;
        }
        // The task has ended. The next input continues it.
        await abortable(submitted, signal);
      }
    } catch (reason) {
      if (this.#isClosing) return;
      throw this.#fail(reason);
    }
  }

  async #configure(submission: Submission | undefined): Promise<undefined> {
    const { op, id = "" } = submission ?? {};
    if (op?.case !== "configureSession") {
      throw invalid(
        "op",
        op?.case === undefined ? "" : OPS[op.case],
        "must be configure_session in the first submission of a stream",
      );
    }
    if (id === "") throw invalid("id", "", "is missing");
    const { sessionId, resumeAfter, ...settings } = op.value;
    this.#configuration = op.value;
    this.#resumeAfter = parsePlace(resumeAfter);
    if (sessionId === "") {
      if (resumeAfter !== "") {
        throw invalid("resume_after", resumeAfter, "needs session_id");
      }
      return;
    }
    const given = (["cwd", "model", "agent"] as const).find(
      (name) => settings[name] !== "",
    );
    if (given) {
      throw invalid(
        given,
        settings[given],
        "must be empty for a session that exists",
      );
    }
    const task = await this.#find(sessionId);
    if (this.#resumeAfter && this.#resumeAfter.sequence > task.sequence) {
      const details = { field: "resume_after", value: resumeAfter };
      const problem = `resume_after "${resumeAfter}" is not a place in the session`;
      throw new DevtoolError(problem, Code.OutOfRange, { details });
    }
    this.#open(task);
  }

  /**
   * Carries out a submission. Returns the event that answers it at once, if
   * there is one.
   */
  async #handle(
    submission: Submission | undefined,
  ): Promise<SessionEvent | undefined> {
    const { id = "", op = { case: undefined } } = submission ?? {};
    try {
      if (id === "") {
        throw invalid(
          "id",
          "",
          "is missing",
          "choose an id that is new for each submission",
        );
      }
      return await this.#carryOut(id, op);
    } catch (reason) {
      this.#context.signal.throwIfAborted();
      return errorEvent(id, op.case, reason);
    }
  }

  async #carryOut(
    id: string,
    op: Submission["op"],
  ): Promise<SessionEvent | undefined> {
    switch (op.case) {
      case "userInput":
      case "userTurn":
        return this.#send(
          inputRequest(id, op, this.#taskId, this.#configuration),
        );
      case "execApproval":
      case "patchApproval":
      case "userInputAnswer": {
        const task = await this.#find(this.#sessionTask());
        return this.#send(answerRequest(id, op, task));
      }
      case "interrupt":
        await this.#handler.tasks.cancelTask(
          create(CancelTaskRequestSchema, { taskId: this.#sessionTask() }),
          this.#context,
        );
        return undefined;
      case "shutdown":
        this.#close();
        return create(SessionEventSchema, {
          id,
          msg: { case: "shutdownComplete", value: {} },
        });
      case "configureSession":
        throw invalid(
          "op",
          "configure_session",
          "must be the first submission of its stream",
          "open another stream",
        );
      case undefined:
        throw invalid("op", "", "is missing, or unknown to this server");
      default:
        return op satisfies never;
    }
  }

  async #send(request: SendMessageRequest): Promise<undefined> {
    const { task } = await this.#handler.tasks.sendMessage(
      request,
      this.#context,
    );
    if (this.#taskId === "" && task) this.#open(create(TaskSchema, task));
    this.#submitted.resolve();
    this.#submitted = Promise.withResolvers();
  }

  #find(taskId: string): Promise<Task> {
    return findTask(this.#handler, { context: this.#context }, taskId);
  }

  #open(task: Task): void {
    this.#taskId = task.id;
    this.#opened.resolve(task);
  }

  /** Whether the client sends nothing more, and the session rests. */
  #isOver(): boolean {
    if (
      this.#end === undefined ||
      !this.#last ||
      this.#last.sequence < this.#end
    ) {
      return false;
    }
    return isAtRest(this.#last.state);
  }

  #close(): void {
    this.#isClosing = true;
    this.#stop.abort();
  }

  #fail(reason: unknown): unknown {
    const failure = inClientsWords(reason, "configureSession");
    this.#stop.abort(failure);
    return failure;
  }

  #sessionTask(): string {
    if (this.#taskId !== "") return this.#taskId;
    const problem = "the session has not begun";
    throw new DevtoolError(problem, Code.FailedPrecondition, {
      remedy: "send user_input first",
    });
  }
}
