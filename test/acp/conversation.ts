import { create } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import {
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
} from "@devtool/client";
import {
  emptyTask,
  type Part,
  PartSchema,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";

/** One exchange as a client saw it. */
export interface Exchange {
  readonly task: Task;
  readonly events: readonly TaskEvent[];
}

/**
 * One conversation with an agent, over one binding. Each prompt is a task of
 * its own.
 */
export class Conversation {
  readonly client: DevtoolClient;
  #contextId: string;

  /** Continues a conversation, or begins one if its id is empty. */
  constructor(transport: Transport, contextId = "") {
    this.client = createDevtoolClient(transport);
    this.#contextId = contextId;
  }

  /** The id of the conversation. Empty before the first prompt. */
  get contextId(): string {
    return this.#contextId;
  }

  /** Sends a prompt and reads its exchange to the end. */
  async say(
    text: string,
    signal: AbortSignal,
    more: readonly Part[] = [],
  ): Promise<Exchange> {
    return this.#exchange([textPart(text), ...more], emptyTask(), signal);
  }

  /** Answers all questions of a task with an option, as often as it asks. */
  async answer(
    asking: Exchange,
    optionId: string,
    signal: AbortSignal,
  ): Promise<Exchange> {
    let { task, events } = asking;
    // A binding without sequences numbers the events of each stream from 1, so
    // the fold may miss the last ones.
    const asks = (): boolean =>
      events.at(-1)?.state === TaskState.INPUT_REQUIRED;
    for (let count = 0; count < MAX_QUESTIONS && asks(); count++) {
      const parts = pendingToolCalls(task).map((call) =>
        confirmationPart(call, optionId),
      );
      if (parts.length === 0) break;
      const next = await this.#exchange(parts, task, signal);
      task = next.task;
      events = [...events, ...next.events];
    }
    return { task, events };
  }

  /** Continues a task with a text. */
  async continue(
    { task }: Exchange,
    text: string,
    signal: AbortSignal,
  ): Promise<Exchange> {
    return this.#exchange([textPart(text)], task, signal);
  }

  /**
   * Reads the task of an exchange again, as a client that has lost its server
   * does.
   */
  async reload(
    { task, events }: Exchange,
    signal: AbortSignal,
  ): Promise<Exchange> {
    const { task: now } = await this.client.tasks.getTask(
      { taskId: task.id },
      { signal },
    );
    if (!now) throw new Error(`task "${task.id}" is gone`);
    return { task: now, events };
  }

  async #exchange(
    parts: readonly Part[],
    start: Task,
    signal: AbortSignal,
  ): Promise<Exchange> {
    const message = { messageId: crypto.randomUUID(), parts: [...parts] };
    const events: TaskEvent[] = [];
    let task = start;
    const request = { message, taskId: start.id, contextId: this.#contextId };
    for await (const event of streamMessage(
      this.client,
      request,
      signal,
      QUICK,
    )) {
      events.push(event);
      task = reduceTask(task, event);
    }
    this.#contextId = task.contextId;
    return { task, events };
  }
}

function textPart(text: string): Part {
  return create(PartSchema, { content: { case: "text", value: text } });
}

/** Returns the text of an answer. */
export function textOf(events: readonly TaskEvent[]): string {
  return events
    .map(({ payload }) => (payload.case === "text" ? payload.value.text : ""))
    .join("");
}

/** How often an agent may ask within one prompt. */
const MAX_QUESTIONS = 4;
/** Through a proxy that cuts, a client tries often and at once. */
const QUICK = { baseDelayMs: 1, maxAttempts: 1000 };
