import { timestampMs } from "@bufbuild/protobuf/wkt";
import { shorten } from "@devtool/internal/cut-text";
import { KeyedQueue } from "@devtool/internal/keyed-queue";
import type { TaskEvent } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import type { SharedTasks, TaskStore } from "../store/task-store.ts";

interface RecordedMessagesOptions {
  readonly store: TaskStore;
  readonly now: () => Date;
  /**
   * The time in milliseconds in which a message under the same id is a retry; 0
   * for never.
   */
  readonly retryWindowMs: number;
  /**
   * The parts of the store that servers share. Default: none, for a store that
   * one server uses.
   */
  readonly shared?: SharedTasks | undefined;
}

/**
 * Finds the messages that were recorded so recently that another one under the
 * same id is a retry (STREAM-7).
 */
export class RecordedMessages {
  /** Whether other servers may record messages at any time. */
  readonly isShared: boolean;
  readonly #options: RecordedMessagesOptions;
  /** Takes the messages of each principal and message id. */
  readonly #taking = new KeyedQueue();

  constructor(options: RecordedMessagesOptions) {
    this.#options = options;
    this.isShared = options.shared !== undefined;
  }

  /**
   * Returns the event that records a message. Undefined when there is none, or
   * it is so old that the id may be used again.
   */
  async find(
    principal: string,
    messageId: string,
  ): Promise<TaskEvent | undefined> {
    const { store, shared, now, retryWindowMs } = this.#options;
    if (retryWindowMs === 0 && !shared) return undefined;
    const event = await store.findMessage(principal, messageId);
    if (!event?.time) return undefined;
    if (
      retryWindowMs > 0 &&
      now().getTime() - timestampMs(event.time) < retryWindowMs
    ) {
      return event;
    }
    await shared?.forgetMessage(principal, messageId, event);
    return undefined;
  }

  /**
   * Takes a message unless it is recorded. Copies of a message wait for each
   * other, whether they come from a client or through the inbox, so one of them
   * is taken. Throws `Code.Aborted` for the others.
   *
   * @param take must resolve when the message is durable
   */
  async takeOnce<T>(
    principal: string,
    messageId: string,
    take: () => Promise<T>,
  ): Promise<T> {
    const key = JSON.stringify([principal, messageId]);
    return this.#taking.run(key, async () => {
      if (!(await this.find(principal, messageId))) return take();
      const problem = `message.message_id ${quoted(messageId)} was recorded meanwhile`;
      const details = {
        field: "message.message_id",
        value: shorten(messageId),
      };
      throw new DevtoolError(problem, Code.Aborted, {
        remedy: "send the message again to see its task",
        details,
      });
    });
  }
}
