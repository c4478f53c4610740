import type { TaskEvent, TraceContext } from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";

/**
 * Finds the trace of the message to which an event of a task belongs, while the
 * task's events are read in order.
 */
export class MessageTraces {
  readonly #store: TaskStore;
  readonly #queued = new Map<string, TraceContext | undefined>();
  #trace: TraceContext | undefined;
  #isBegun = false;

  constructor(store: TaskStore) {
    this.#store = store;
  }

  /**
   * Returns the trace of the last message at an event; undefined where none was
   * recorded. Reads the events before the first one, if it brings no message.
   */
  async at(event: TaskEvent): Promise<TraceContext | undefined> {
    const { payload, taskId, sequence } = event;
    const bringsMessage =
      payload.case === "created" || payload.case === "message";
    if (!this.#isBegun && !bringsMessage) {
      for await (const earlier of this.#store.readEvents(taskId, 0n)) {
        if (earlier.sequence >= sequence) break;
        this.#note(earlier);
      }
    }
    this.#isBegun = true;
    this.#note(event);
    return this.#trace;
  }

  #note({ payload }: TaskEvent): void {
    switch (payload.case) {
      case "created":
        this.#trace = payload.value.message?.traceContext;
        break;
      case "message":
        this.#trace = payload.value.traceContext;
        break;
      case "messageQueued": {
        const { messageId = "", traceContext } = payload.value.message ?? {};
        this.#queued.set(messageId, traceContext);
        break;
      }
      case "messageTaken": {
        const { messageId } = payload.value;
        this.#trace = this.#queued.get(messageId);
        this.#queued.delete(messageId);
        break;
      }
      default:
    }
  }
}
