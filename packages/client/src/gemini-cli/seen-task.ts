import { emptyTask, isTerminal, reduceTask, type Task, type TaskEvent } from "@devtool/schema";

/**
 * What a transport has seen of a task. The peer numbers nothing and tells nothing twice, so the events are counted and
 * kept here: they can be read again, and while they come.
 */
export class SeenTask {
  task: Task = emptyTask();
  readonly #events: TaskEvent[] = [];
  #more = Promise.withResolvers<void>();

  /** Adds an event that has the next sequence. */
  append(event: TaskEvent): void {
    this.task = reduceTask(this.task, event);
    this.#events.push(event);
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  /** Yields the events after a sequence, then those to come, until the task has ended. */
  async *read(after: bigint, signal: AbortSignal): AsyncIterable<TaskEvent> {
    for (let next = Number(after); ; next++) {
      while (next >= this.#events.length) {
        if (isTerminal(this.task.state)) return;
        await untilAborted(this.#more.promise, signal);
      }
      const event = this.#events[next];
      if (event) yield event;
    }
  }
}

/** The newest tasks that a transport has seen. */
export class SeenTasks {
  readonly #tasks = new Map<string, SeenTask>();

  find(taskId: string): SeenTask | undefined {
    return this.#tasks.get(taskId);
  }

  /** The task with an id, which may be new. */
  open(taskId: string): SeenTask {
    const task = this.#tasks.get(taskId) ?? new SeenTask();
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, task);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > MAX_TASKS && oldest !== undefined) this.#tasks.delete(oldest);
    return task;
  }
}

const MAX_TASKS = 200;

async function untilAborted(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([waiting, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
