import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import {
  type ApprovalMode,
  emptyTask,
  type Part,
  reduceTask,
  type SendMessageRequestSchema,
  type Task,
  type ToolCall,
} from "@devtool/schema";
import { clientOf } from "../client-of.ts";

/** A user who gives an agent jobs and answers its questions. */
export class Conversation {
  readonly client: DevtoolClient;
  readonly #signal: AbortSignal;

  constructor(
    { url, token }: { readonly url: string; readonly token: string },
    signal: AbortSignal,
  ) {
    this.client = clientOf({ url, token });
    this.#signal = signal;
  }

  /**
   * Gives a job in a context of its own and follows it until it ends or asks.
   */
  start(script: string, approvalMode?: ApprovalMode): Promise<Task> {
    const message = textMessage(crypto.randomUUID(), script);
    return this.#follow(
      { message, ...(approvalMode && { sessionSettings: { approvalMode } }) },
      emptyTask(),
    );
  }

  /** Says something more in a task. */
  say(task: Task, script: string): Promise<Task> {
    return this.#follow(
      { message: textMessage(crypto.randomUUID(), script), taskId: task.id },
      task,
    );
  }

  /** Answers all that a task asks with one option. */
  answer(task: Task, optionId: string, newContent?: string): Promise<Task> {
    return this.#answer(
      task,
      pendingToolCalls(task).map((call) =>
        confirmationPart(call, optionId, newContent),
      ),
    );
  }

  /** Answers one call that a task asks about. */
  answerTo(task: Task, call: ToolCall, optionId: string): Promise<Task> {
    return this.#answer(task, [confirmationPart(call, optionId)]);
  }

  #answer(task: Task, parts: readonly Part[]): Promise<Task> {
    return this.#follow(
      {
        message: { messageId: crypto.randomUUID(), parts: [...parts] },
        taskId: task.id,
      },
      task,
    );
  }

  async #follow(
    request: MessageInitShape<typeof SendMessageRequestSchema>,
    from: Task,
  ): Promise<Task> {
    let task = from;
    for await (const event of streamMessage(
      this.client,
      request,
      this.#signal,
    )) {
      task = reduceTask(task, event);
    }
    return task;
  }
}
