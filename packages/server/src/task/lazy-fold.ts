import { reduceTask, type Task, type TaskEvent, type TaskState } from "@devtool/schema";

/**
 * The task that events make, folded when somebody looks: a long answer comes in thousands of pieces, and nobody needs
 * the task between two of them. Pieces of text that follow each other are folded as one.
 */
export class LazyFold {
  readonly taskId: string;
  readonly contextId: string;
  #task: Task;
  #unfolded: TaskEvent[] = [];

  /** Begins with the task so far. */
  constructor(task: Task) {
    this.taskId = task.id;
    this.contextId = task.contextId;
    this.#task = task;
  }

  add(event: TaskEvent): void {
    this.#unfolded.push(event);
  }

  get sequence(): bigint {
    return this.#unfolded.at(-1)?.sequence ?? this.#task.sequence;
  }

  get state(): TaskState {
    return this.#unfolded.at(-1)?.state ?? this.#task.state;
  }

  /** The task with all events folded in. */
  get task(): Task {
    if (this.#unfolded.length > 0) {
      this.#task = joinedTexts(this.#unfolded).reduce(reduceTask, this.#task);
      this.#unfolded = [];
    }
    return this.#task;
  }
}

/** The events with each run of texts made one, which has the sequence and time of its last. */
function joinedTexts(events: readonly TaskEvent[]): TaskEvent[] {
  const joined: TaskEvent[] = [];
  let run: string[] = [];
  for (const [index, event] of events.entries()) {
    if (event.payload.case !== "text") {
      joined.push(event);
      continue;
    }
    run.push(event.payload.value.text);
    if (events[index + 1]?.payload.case === "text") continue;
    const value = { ...event.payload.value, text: run.join("") };
    joined.push({ ...event, payload: { case: "text", value } });
    run = [];
  }
  return joined;
}
