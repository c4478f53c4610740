import { GoalState } from "./gen/devtool/v1alpha/goal_pb.ts";
import { ApprovalMode } from "./gen/devtool/v1alpha/session_settings_pb.ts";
import type { TaskEvent } from "./gen/devtool/v1alpha/task_event_pb.ts";
import type { Task, TaskState } from "./gen/devtool/v1alpha/task_pb.ts";
import { noteCalls } from "./known-calls.ts";
import { reduceTask } from "./reduce-task.ts";
import { toolCallsOf } from "./tool-call.ts";
import { withoutContent } from "./without-content.ts";

/**
 * Folds events into a task when the task is read.
 *
 * A long answer arrives in thousands of pieces, and the task between two pieces
 * is rarely needed. Pieces of text that follow each other are folded as one.
 */
export class LazyFold {
  /** Id of the task that the fold began with. Later events do not change it. */
  readonly taskId: string;
  /** Context id of that task. */
  readonly contextId: string;
  #task: Task;
  #starts: number[];
  #unfolded: TaskEvent[] = [];
  #hasAddedServers: boolean;

  /**
   * @param task the task before the first event
   * @param starts `starts` of the fold that made the task. Default: not known
   */
  constructor(task: Task, starts?: readonly number[]) {
    this.taskId = task.id;
    this.contextId = task.contextId;
    this.#task = task;
    // A history that was stored is not known.
    const calls = task.history.flatMap(toolCallsOf);
    const ids = calls.map(({ toolCallId }) => toolCallId);
    noteCalls([], task.history, ids);
    this.#hasAddedServers = task.history.some(
      ({ mcpServers }) => mcpServers.length > 0,
    );
    this.#starts = starts ? [...starts] : task.history.map(() => 0);
  }

  /**
   * Adds the next event of the log. Events come in order: `sequence` and `state`
   * are those of the last one added.
   */
  add(event: TaskEvent): void {
    this.#unfolded.push(event);
    this.#hasAddedServers = event.mcpServersAdded;
  }

  /** The sequence of the last event. Needs no fold. */
  get sequence(): bigint {
    return this.#unfolded.at(-1)?.sequence ?? this.#task.sequence;
  }

  /** The state after the last event. Needs no fold. */
  get state(): TaskState {
    return this.#unfolded.at(-1)?.state ?? this.#task.state;
  }

  /** The approval mode of the session after the last event. Needs no fold. */
  get approvalMode(): ApprovalMode {
    const last =
      this.#unfolded.at(-1)?.approvalMode ?? ApprovalMode.UNSPECIFIED;
    return (
      last ||
      (this.#task.sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED)
    );
  }

  /**
   * Whether a message after the first has brought MCP servers. Needs no fold.
   */
  get hasAddedServers(): boolean {
    return this.#hasAddedServers;
  }

  /** The state of the goal after the last event. Needs no fold. */
  get goalState(): GoalState {
    return (
      this.#unfolded.at(-1)?.goalState ??
      this.#task.goalProgress?.state ??
      GoalState.UNSPECIFIED
    );
  }

  /** The tier of who sent what the agent works on. Needs no fold. */
  get userTier(): string {
    return this.#unfolded.at(-1)?.userTier ?? this.#task.sender?.userTier ?? "";
  }

  /** The task with all events folded in. */
  get task(): Task {
    if (this.#unfolded.length > 0) {
      for (const event of joinTexts(this.#unfolded)) this.#fold(event);
      this.#unfolded = [];
    }
    return this.#task;
  }

  /**
   * For each message of the history, the sequence of its first event, if the
   * message and all after it can be folded from there: onto the messages before
   * it, with or without their content. 0 where they cannot, because a message
   * that was queued then came later.
   */
  get starts(): readonly number[] {
    void this.task;
    return this.#starts;
  }

  #fold(event: TaskEvent): void {
    const before = this.#task;
    const task = reduceTask(before, event);
    this.#task = task;
    if (task.id !== before.id) this.#starts = [];
    const start =
      before.queuedMessages.length === 0 ? Number(event.sequence) : 0;
    while (this.#starts.length < task.history.length) this.#starts.push(start);
  }

  /**
   * Removes the content of the messages of the history from one index to before
   * another, and of all artifacts, from memory. The task keeps what its state
   * and its next events depend on: see `withoutContent`.
   */
  dropContent(from: number, to: number): void {
    this.#task = withoutContent(this.task, from, to);
  }

  /** Returns the task as it would be without the content of all messages. */
  withoutContent(): Task {
    return withoutContent(this.task, 0, this.task.history.length);
  }
}

/**
 * Joins the pieces that continue a text to one event, with the sequence and the
 * time of the last. The first piece stays by itself: it may begin a message,
 * whose id has the sequence of the piece.
 */
function joinTexts(events: readonly TaskEvent[]): TaskEvent[] {
  const joined: TaskEvent[] = [];
  let run: string[] = [];
  let before: TaskEvent | undefined;
  const endRun = (): void => {
    if (before?.payload.case !== "text" || run.length === 0) return;
    const value = { ...before.payload.value, text: run.join("") };
    joined.push({ ...before, payload: { case: "text", value } });
    run = [];
  };
  for (const event of events) {
    if (event.payload.case === "text" && continues(event, before)) {
      run.push(event.payload.value.text);
    } else {
      endRun();
      joined.push(event);
    }
    before = event;
  }
  endRun();
  return joined;
}

/** Whether an event with text continues the text of the one before it. */
function continues({ model }: TaskEvent, before: TaskEvent | undefined) {
  return (
    before?.payload.case === "text" && (model === "" || model === before.model)
  );
}
