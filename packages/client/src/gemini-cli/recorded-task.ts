import type { JsonValue } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import {
  emptyTask,
  isTerminal,
  reduceTask,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import { decodeGeminiCliFrame } from "@devtool/schema/gemini-cli";

/**
 * The events of a task that a transport has received. The server does not
 * number events and does not replay them, so they are numbered and kept here,
 * and can be read again.
 */
export class RecordedTask {
  task: Task = emptyTask();
  readonly #events: TaskEvent[] = [];
  #nextEvent = Promise.withResolvers<void>();

  /**
   * Adds an event, which must have the next sequence.
   */
  append(event: TaskEvent): void {
    this.task = reduceTask(this.task, event);
    this.#events.push(event);
    this.#nextEvent.resolve();
    this.#nextEvent = Promise.withResolvers();
  }

  /**
   * Adds the events of a frame of the server and returns them.
   */
  appendFrame(frame: JsonValue): TaskEvent[] {
    const events = decodeGeminiCliFrame(frame, this.task);
    for (const event of events) this.append(event);
    return events;
  }

  /**
   * Yields the events after a sequence, and those to come, until the task has
   * ended.
   */
  async *read(after: bigint, signal: AbortSignal): AsyncIterable<TaskEvent> {
    for (let next = Number(after); ; next++) {
      while (next >= this.#events.length) {
        if (isTerminal(this.task.state)) return;
        await abortable(this.#nextEvent.promise, signal);
      }
      const event = this.#events[next];
      if (event) yield event;
    }
  }
}

const MAX_TASKS = 200;

/**
 * The tasks that a transport has received events of. The longest unused are
 * dropped.
 */
export class RecordedTasks {
  readonly #tasks = new Map<string, RecordedTask>();

  find(taskId: string): RecordedTask | undefined {
    return this.#tasks.get(taskId);
  }

  /**
   * Returns the task with an id. Creates it if it is not there yet.
   */
  open(taskId: string): RecordedTask {
    const task = this.#tasks.get(taskId) ?? new RecordedTask();
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, task);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > MAX_TASKS && oldest !== undefined) {
      this.#tasks.delete(oldest);
    }
    return task;
  }
}
