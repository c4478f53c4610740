import type { AgentContext } from "@agentclientprotocol/sdk";
import { create, equals } from "@bufbuild/protobuf";
import {
  type AskedToolCall,
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
} from "@devtool/client";
import { objectOrEmpty } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  type Message,
  MessageSchema,
  OPTION_CANCEL,
  Role,
  type Task,
  TaskState,
  ToolCallSchema,
} from "@devtool/schema";
import { permissionOptions } from "./permission.ts";
import type { SessionUpdates } from "./updates.ts";

/** What a turn needs to ask the client. */
export interface QuestionHost {
  readonly sessionId: string;
  readonly client: DevtoolClient;
  readonly acp: AgentContext;
  readonly updates: SessionUpdates;
  readonly nextId: () => string;
  /** Receives messages for the operator. */
  readonly log: (text: string) => void;
}

/** The dependencies of `TurnQuestions`. */
export interface TurnQuestionsOptions extends QuestionHost {
  /** Returns the task as far as it was shown. */
  readonly task: () => Task;
  /** Sends an answer to the task. Resolves when the server has it. */
  readonly answer: (message: Message) => Promise<void>;
  /** Cancels the turn, because the user did. */
  readonly cancel: () => Promise<void>;
  /** Ends the turn with an error. */
  readonly fail: (reason: unknown) => void;
  /** Aborts when the task is no longer followed. */
  readonly following: AbortSignal;
}

/**
 * The questions of a task that the ACP client is asked.
 *
 * Another client may answer a question first. The request to this one is then
 * canceled with `$/cancel_request`.
 */
export class TurnQuestions {
  readonly #options: TurnQuestionsOptions;
  /** The questions that the client was asked, by the ids of their calls. */
  readonly #asked = new Map<
    string,
    { readonly call: AskedToolCall; readonly withdrawn: AbortController }
  >();

  constructor(options: TurnQuestionsOptions) {
    this.#options = options;
  }

  /** Asks what is new in the task, and takes back what another client has answered. */
  sync(): void {
    const task = this.#options.task();
    const pending = pendingToolCalls(task);
    for (const [id, { call, withdrawn }] of this.#asked) {
      // An answer is for the question that was shown, also when the call asks
      // something else by now.
      if (pending.some((one) => isSameQuestion(one, call))) continue;
      this.#asked.delete(id);
      withdrawn.abort();
    }
    if (task.state !== TaskState.INPUT_REQUIRED) return;
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
        await this.#options.cancel();
      } else {
        await this.#answer(call, optionId);
      }
    } catch (reason) {
      if (!withdrawn.signal.aborted) this.#options.fail(reason);
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
    const { acp, sessionId, updates, log, task, following } = this.#options;
    const options = permissionOptions(call);
    const decline =
      options.find(({ kind }) => kind === "reject_once")?.optionId ??
      OPTION_CANCEL;
    for (const update of updates.ofCall(call, task().id)) {
      await acp.notify("session/update", { sessionId, update });
    }
    const { toolCallId } = call;
    const toolCall = updates.view(call);
    const request = acp.request(
      "session/request_permission",
      { sessionId, toolCall, options },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    );
    try {
      // A client may answer with anything.
      const { outcome } = objectOrEmpty(await request);
      const { outcome: kind, optionId } = objectOrEmpty(outcome);
      if (kind === "cancelled") return undefined;
      const chosen = options.find((option) => option.optionId === optionId);
      if (kind === "selected" && chosen) return chosen.optionId;
      log(
        `tool call ${toolCallId} is declined: the client answered ${oneLine(JSON.stringify(outcome ?? null), 200)}, which selects no option that was offered`,
      );
    } catch (reason) {
      if (signal.aborted || following.aborted) throw reason;
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
    const { client, nextId, log, following } = this.#options;
    const { id: taskId } = this.#options.task();
    const message = create(MessageSchema, {
      messageId: nextId(),
      role: Role.USER,
      parts: [confirmationPart(call, optionId)],
    });
    try {
      await this.#options.answer(message);
    } catch (reason) {
      const { task } = await client.tasks.getTask(
        { taskId },
        { signal: following },
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

  /** Takes all questions back. */
  withdraw(): void {
    for (const { withdrawn } of this.#asked.values()) withdrawn.abort();
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
