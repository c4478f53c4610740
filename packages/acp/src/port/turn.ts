import {
  type PromptResponse,
  RequestError,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  pendingToolCalls,
  streamMessage,
  subscribeTask,
} from "@devtool/client";
import { visibleText } from "@devtool/internal/visible-text";
import {
  isAtRest,
  isInterrupted,
  isTerminal,
  type SendMessageRequest,
  type SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { RPC_CODE } from "./errors.ts";
import { type QuestionHost, TurnQuestions } from "./turn-questions.ts";
import { foldTurn } from "./turn-task.ts";

/** Dependencies of a turn. */
export interface TurnHost extends QuestionHost {
  /** The headers of messages: the trace that the prompt is in, if it is. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when the connection closes. */
  readonly signal: AbortSignal;
}

/**
 * Key of the tokens of a turn's task in the `_meta` of the answer to a prompt.
 */
export const USAGE_KEY = "devtool.dev/usage";

/**
 * Follows a task until it rests, and asks the ACP client the task's questions.
 */
export class Turn {
  /** The task as far as it was shown, without its transcript. */
  #task: Task;
  #isCanceled = false;
  readonly #host: TurnHost;
  /** The ids of the messages that this turn sent. The client shows them. */
  readonly #own = new Set<string>();
  /** Aborts when the task is no longer followed, or cannot be. */
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #questions: TurnQuestions;

  constructor(host: TurnHost, task: Task) {
    this.#host = host;
    this.#task = task;
    this.#signal = AbortSignal.any([host.signal, this.#stop.signal]);
    this.#questions = new TurnQuestions({
      ...host,
      task: () => this.#task,
      answer: (message) => {
        this.#own.add(message.messageId);
        return this.#deliver({ message, taskId: this.#task.id });
      },
      cancel: () => this.cancel(),
      fail: (reason) => this.#stop.abort(reason),
      following: this.#signal,
    });
  }

  get task(): Task {
    return this.#task;
  }

  /**
   * Sends a message and follows its task. A lost connection is resumed, also
   * over a restart of the server.
   */
  async send(request: SendMessageRequest): Promise<void> {
    this.#own.add(request.message?.messageId ?? "");
    const { client, headers } = this.#host;
    await this.#attempt(async () => {
      if (this.#task.id !== "" && !isAtRest(this.#task.state)) {
        // The message waits in the queue of a task whose earlier events are
        // still to be shown.
        await this.#deliver(request);
      } else {
        for await (const event of streamMessage(client, request, this.#signal, {
          headers,
        })) {
          await this.#apply(event);
        }
      }
      await this.#readOn();
    });
  }

  /** Continues to follow a task, and asks its open questions. */
  async follow(): Promise<void> {
    await this.#attempt(async () => {
      if (!this.#isCanceled) this.#questions.sync();
      await this.#readOn();
    });
  }

  /** Follows a task from its first event. */
  async followFrom(taskId: string): Promise<void> {
    await this.#attempt(() => this.#read(taskId, 0n));
  }

  /** Cancels the task, or a task that does not exist yet as soon as it does. */
  async cancel(): Promise<void> {
    if (this.#isCanceled) return;
    this.#isCanceled = true;
    this.#questions.withdraw();
    if (this.#task.id !== "") await this.#cancelTask();
  }

  /** Stops following the task, which continues. */
  detach(): void {
    this.#stop.abort();
    this.#questions.withdraw();
  }

  /**
   * Returns how the turn ended, for the answer to the prompt. Throws when its
   * task failed.
   */
  response(): PromptResponse {
    const { usage } = this.#task;
    const stopReason = this.#stopReason();
    if (!usage) return { stopReason };
    const { inputTokens, cachedTokens, outputTokens, thoughtTokens } = usage;
    const tokens = { inputTokens, cachedTokens, outputTokens, thoughtTokens };
    const numbers = Object.entries(tokens).map(([name, count]) => [
      name,
      Number(count),
    ]);
    return { stopReason, _meta: { [USAGE_KEY]: Object.fromEntries(numbers) } };
  }

  #stopReason(): StopReason {
    const { id, state, error, stateText } = this.#task;
    if (this.#isCanceled) return "cancelled";
    switch (state) {
      case TaskState.CANCELED:
        return "cancelled";
      case TaskState.REJECTED:
        return "refusal";
      case TaskState.FAILED:
        throw new RequestError(
          RPC_CODE.INTERNAL,
          visibleText(error || stateText || "the task failed"),
          { taskId: id },
        );
      case TaskState.AUTH_REQUIRED:
        throw new RequestError(
          RPC_CODE.AUTH_REQUIRED,
          stateText ||
            "the agent waits until you have authenticated: do so, then send a message",
        );
      default:
        return "end_turn";
    }
  }

  /**
   * Runs a stage. Errors after a cancel are logged, because the client expects
   * no error then.
   */
  async #attempt(stage: () => Promise<void>): Promise<void> {
    try {
      await stage();
    } catch (reason) {
      this.detach();
      if (!this.#isCanceled) throw reason;
      if (!this.#signal.aborted) {
        this.#host.log(
          `a canceled task was not followed to its end: ${String(reason)}`,
        );
      }
    }
  }

  /**
   * Sends a message and resolves when the server has it. The events that it
   * leads to arrive with those of the task, which are read anyway.
   */
  async #deliver(
    request: MessageInitShape<typeof SendMessageRequestSchema>,
  ): Promise<void> {
    const { client, headers } = this.#host;
    const events = streamMessage(client, request, this.#signal, { headers });
    for await (const _received of events) break;
  }

  /** Reads what follows the events that were shown, until the turn is over. */
  async #readOn(): Promise<void> {
    if (isTurnOver(this.#task)) return;
    await this.#read(this.#task.id, this.#task.sequence);
  }

  async #read(taskId: string, afterSequence: bigint): Promise<void> {
    for await (const event of subscribeTask(
      this.#host.client,
      { taskId, afterSequence },
      this.#signal,
    )) {
      await this.#apply(event);
      if (isTurnOver(this.#task)) return;
    }
  }

  async #apply(event: TaskEvent): Promise<void> {
    const isFirst = this.#task.id === "";
    this.#task = foldTurn(this.#task, event);
    for (const update of this.#host.updates.ofEvent(event, this.#own)) {
      await this.#notify(update);
    }
    if (isFirst && this.#isCanceled) await this.#cancelTask();
    if (!this.#isCanceled) this.#questions.sync();
  }

  async #notify(update: SessionUpdate): Promise<void> {
    const { acp, sessionId } = this.#host;
    await acp.notify("session/update", { sessionId, update });
  }

  async #cancelTask(): Promise<void> {
    const { client, log } = this.#host;
    try {
      await client.tasks.cancelTask(
        { taskId: this.#task.id },
        { signal: this.#host.signal },
      );
    } catch (reason) {
      log(`task ${this.#task.id} was not canceled: ${String(reason)}`);
      // A task that has ended in between is followed to its end; any other is
      // left alone.
      if (!isTerminal(this.#task.state)) this.#stop.abort();
    }
  }
}

/**
 * Whether the turn of a task is over: the task has ended or waits for a
 * message. While calls await an answer, the turn goes on.
 */
function isTurnOver(task: Task): boolean {
  if (isTerminal(task.state)) return true;
  return isInterrupted(task.state) && pendingToolCalls(task).length === 0;
}
