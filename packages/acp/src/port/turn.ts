import {
  type AgentContext,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { create, equals, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AskedToolCall,
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  subscribeTask,
} from "@devtool/client";
import {
  isAtRest,
  isInterrupted,
  isTerminal,
  MessageSchema,
  OPTION_CANCEL,
  Role,
  type SendMessageRequest,
  type SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskState,
  ToolCallSchema,
  visibleText,
} from "@devtool/schema";
import { RPC_CODE } from "./errors.ts";
import { permissionOptions } from "./permission.ts";
import { foldTurn } from "./turn-task.ts";
import type { SessionUpdates } from "./updates.ts";

/** Dependencies of a turn. */
export interface TurnHost {
  readonly sessionId: string;
  readonly client: DevtoolClient;
  readonly acp: AgentContext;
  readonly updates: SessionUpdates;
  readonly nextId: () => string;
  /** Receives messages for the operator. */
  readonly log: (text: string) => void;
  /** Aborts when the connection closes. */
  readonly signal: AbortSignal;
}

/**
 * Key of the tokens of a turn's task in the `_meta` of the answer to a prompt.
 */
export const USAGE_KEY = "devtool.dev/usage";

/**
 * Follows a task until it rests, and asks the ACP client the task's questions.
 *
 * Another client may answer a question first. The request to this one is then
 * canceled with `$/cancel_request`, and the turn goes on.
 */
export class Turn {
  /** The task as far as it was shown, without its transcript. */
  #task: Task;
  #isCanceled = false;
  readonly #host: TurnHost;
  /** The ids of the messages that this turn sent. The client shows them. */
  readonly #own = new Set<string>();
  /** The questions that the client was asked, by the ids of their calls. */
  readonly #asked = new Map<
    string,
    { readonly call: AskedToolCall; readonly withdrawn: AbortController }
  >();
  /** Aborts when the task is no longer followed, or cannot be. */
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;

  constructor(host: TurnHost, task: Task) {
    this.#host = host;
    this.#task = task;
    this.#signal = AbortSignal.any([host.signal, this.#stop.signal]);
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
    const { client } = this.#host;
    await this.#attempt(async () => {
      if (this.#task.id !== "" && !isAtRest(this.#task.state)) {
        // The message waits in the queue of a task whose earlier events are
        // still to be shown.
        await this.#deliver(request);
      } else {
        for await (const event of streamMessage(
          client,
          request,
          this.#signal,
        )) {
          await this.#apply(event);
        }
      }
      await this.#readOn();
    });
  }

  /** Continues to follow a task, and asks its open questions. */
  async follow(): Promise<void> {
    await this.#attempt(async () => {
      this.#syncQuestions();
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
    for (const { withdrawn } of this.#asked.values()) withdrawn.abort();
    if (this.#task.id !== "") await this.#cancelTask();
  }

  /** Stops following the task, which continues. */
  detach(): void {
    this.#stop.abort();
    for (const { withdrawn } of this.#asked.values()) withdrawn.abort();
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
    const events = streamMessage(this.#host.client, request, this.#signal);
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
    this.#syncQuestions();
  }

  async #notify(update: SessionUpdate): Promise<void> {
    const { acp, sessionId } = this.#host;
    await acp.notify("session/update", { sessionId, update });
  }

  /** Asks what is new, and takes back what another client has answered. */
  #syncQuestions(): void {
    if (this.#isCanceled) return;
    const pending = pendingToolCalls(this.#task);
    for (const [id, { call, withdrawn }] of this.#asked) {
      // An answer is for the question that was shown, also when the call asks
      // something else by now.
      if (pending.some((one) => isSameQuestion(one, call))) continue;
      this.#asked.delete(id);
      withdrawn.abort();
    }
    if (this.#task.state !== TaskState.INPUT_REQUIRED) return;
    for (const call of pending) {
      if (!this.#asked.has(call.toolCallId)) void this.#ask(call);
    }
  }

  /** Asks one question. A failure ends the turn. */
  async #ask(call: AskedToolCall): Promise<void> {
    const withdrawn = new AbortController();
    this.#asked.set(call.toolCallId, { call, withdrawn });
    try {
      const optionId = await this.#choice(call, withdrawn.signal);
      if (withdrawn.signal.aborted) return;
      if (optionId === undefined) {
        await this.cancel();
      } else {
        await this.#answer(call, optionId);
      }
    } catch (reason) {
      if (!withdrawn.signal.aborted) this.#stop.abort(reason);
    }
  }

  /**
   * Returns the option that the user chose; undefined when the user canceled
   * the turn instead.
   */
  async #choice(
    call: AskedToolCall,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { acp, sessionId, updates, log } = this.#host;
    const options = permissionOptions(call);
    const decline =
      options.find(({ kind }) => kind === "reject_once")?.optionId ??
      OPTION_CANCEL;
    for (const update of updates.ofCall(call, this.#task.id)) {
      await this.#notify(update);
    }
    const { toolCallId } = call;
    const toolCall = updates.view(call);
    const request = acp.request(
      "session/request_permission",
      { sessionId, toolCall, options },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    );
    try {
      const { outcome } = await request;
      if (outcome.outcome === "cancelled") return undefined;
      if (options.some(({ optionId }) => optionId === outcome.optionId)) {
        return outcome.optionId;
      }
      log(
        `tool call ${toolCallId} is declined: the client chose ${JSON.stringify(outcome.optionId)}, which was not offered`,
      );
    } catch (reason) {
      if (signal.aborted || this.#signal.aborted) throw reason;
      log(
        `tool call ${toolCallId} is declined: the client did not answer: ${String(reason)}`,
      );
    }
    return decline;
  }

  /**
   * Sends the answer. What it leads to arrives with the events that are being
   * followed.
   */
  async #answer(call: AskedToolCall, optionId: string): Promise<void> {
    const { client, nextId, log } = this.#host;
    const messageId = nextId();
    this.#own.add(messageId);
    const message = create(MessageSchema, {
      messageId,
      role: Role.USER,
      parts: [confirmationPart(call, optionId)],
    });
    try {
      await this.#deliver({ message, taskId: this.#task.id });
    } catch (reason) {
      const { task } = await client.tasks.getTask(
        { taskId: this.#task.id },
        { signal: this.#signal },
      );
      const isOpen =
        task !== undefined &&
        pendingToolCalls(task).some((one) => isSameQuestion(one, call));
      if (isOpen) throw reason;
      log(
        `the answer to tool call ${call.toolCallId} did not count: the question was answered or has changed`,
      );
    }
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
 * Whether two questions are the same: they look the same, and an approval of
 * them has the same effect.
 */
function isSameQuestion(one: AskedToolCall, other: AskedToolCall): boolean {
  const digests = [one, other].map(({ shownDigest = new Uint8Array() }) =>
    Buffer.from(shownDigest).toString("hex"),
  );
  return digests[0] === digests[1] && equals(ToolCallSchema, one, other);
}

/**
 * Whether the turn of a task is over: the task has ended or waits for a
 * message. While calls await an answer, the turn goes on.
 */
function isTurnOver(task: Task): boolean {
  if (isTerminal(task.state)) return true;
  return isInterrupted(task.state) && pendingToolCalls(task).length === 0;
}
