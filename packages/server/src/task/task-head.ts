import {
  type ApprovalMode,
  LazyFold,
  lastStepIndex,
  type Message,
  summaryOf,
  type Task,
  type TaskEvent,
  type TaskState,
} from "@devtool/schema";
import { isPrompt } from "../agent/turn-news.ts";
import { charactersIn, charactersInEvent } from "./characters-in.ts";

/**
 * How much of the content of a task's history is needed in memory: `all`; what a
 * model gets, which is all since the last summary; or `none`, because the agent
 * keeps the conversation itself.
 */
export type HistoryNeed = "all" | "for-model" | "none";

/**
 * The size at which events that were not folded yet are folded, in characters
 * and bytes. Folded pieces of a text take a fraction of their memory.
 */
const MAX_UNFOLDED = 1024 * 1024;
/** What an event takes in memory besides its content, in bytes. */
const EVENT_BYTES = 500;
/**
 * By how much the content of the history grows before old content is dropped,
 * in characters and bytes.
 */
const MAX_GROWTH = 4 * 1024 * 1024;
/**
 * The number of events between two artifacts up to which they are read
 * together.
 */
const MAX_BETWEEN = 64n;
/** How much of the newest content stays then. */
const KEPT = 1024 * 1024;

/** A part of a log: the sequences of its first and its last event. */
export interface LogRange {
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * The task of a log as it is kept in memory. Once its history has megabytes,
 * old messages there lose their content, which the store has (see
 * `LazyFold.dropContent`).
 */
export class TaskHead {
  readonly #fold: LazyFold;
  readonly #need: HistoryNeed;
  #unfolded = 0;
  #growth = 0;
  /** The number of messages before those that have their content. */
  #dropped = 0;
  #hasArtifacts = true;
  /** The parts of the log that have the artifacts, with events between them. */
  readonly #artifacts: LogRange[] = [];
  /** The number of messages that had no content and do not change any more. */
  #settled = 0;

  /**
   * @param task the task before the first event
   * @param head the head from which the task was read. Default: the task has all
   * its content
   */
  constructor(task: Task, need: HistoryNeed, head?: TaskHead) {
    this.#fold = new LazyFold(task, head?.starts);
    this.#need = need;
    if (!head) {
      if (task.artifacts.length > 0) {
        this.#artifacts.push({ from: 1n, to: task.sequence });
      }
      return;
    }
    this.#dropped = head.#dropped;
    this.#settled = head.#settled;
    this.#hasArtifacts = head.#hasArtifacts;
    this.#artifacts.push(...head.#artifacts);
  }

  get taskId(): string {
    return this.#fold.taskId;
  }

  get contextId(): string {
    return this.#fold.contextId;
  }

  /** The sequence of the last event. Needs no fold. */
  get sequence(): bigint {
    return this.#fold.sequence;
  }

  /** The state after the last event. Needs no fold. */
  get state(): TaskState {
    return this.#fold.state;
  }

  /** The approval mode of the session after the last event. Needs no fold. */
  get approvalMode(): ApprovalMode {
    return this.#fold.approvalMode;
  }

  /** The tier of who sent what the agent works on. Needs no fold. */
  get userTier(): string {
    return this.#fold.userTier;
  }

  /** The task with all events folded in. */
  get task(): Task {
    this.#unfolded = 0;
    return this.#fold.task;
  }

  /** From where messages can be folded again: see `LazyFold.starts`. */
  get starts(): readonly number[] {
    return this.#fold.starts;
  }

  /** The parts of the log that have the artifacts, with events between them. */
  get artifacts(): readonly LogRange[] {
    return this.#artifacts;
  }

  /** Adds the next event of the log. */
  add(event: TaskEvent): void {
    this.#fold.add(event);
    if (event.payload.case === "artifact") this.#noteArtifact(event.sequence);
    const characters = charactersInEvent(event);
    this.#unfolded += characters + EVENT_BYTES;
    this.#growth += characters;
    if (this.#unfolded > MAX_UNFOLDED) void this.task;
    this.#dropOld();
  }

  /**
   * Returns whether the artifacts and the last messages of the history have
   * their content.
   *
   * @param messages the number of these messages. Default: all
   */
  hasContent(messages: number = Number.POSITIVE_INFINITY): boolean {
    const first = Math.max(0, this.task.history.length - messages);
    return this.#hasArtifacts && first >= this.#dropped;
  }

  /** Returns whether the agent finds all that it needs. */
  hasNeeded(need: HistoryNeed): boolean {
    const { length } = this.task.history;
    return this.hasContent(length - firstNeeded(this.task.history, need));
  }

  #noteArtifact(sequence: bigint): void {
    const last = this.#artifacts.at(-1);
    if (last && sequence - last.to <= MAX_BETWEEN) {
      this.#artifacts.splice(-1, 1, { from: last.from, to: sequence });
    } else {
      this.#artifacts.push({ from: sequence, to: sequence });
    }
  }

  #dropOld(): void {
    if (this.#growth <= MAX_GROWTH || this.#need === "all") return;
    this.#growth = 0;
    const { task } = this;
    const to = this.#firstKept(task);
    if (to <= this.#settled) return;
    this.#fold.dropContent(this.#settled, to);
    this.#dropped = Math.max(this.#dropped, to);
    this.#hasArtifacts &&= task.artifacts.length === 0;
    const prompt = task.history.findLastIndex(isPrompt);
    this.#settled = Math.max(0, Math.min(to, lastStepIndex(task), prompt));
  }

  /**
   * Returns the index of the first message of the newest that keep their
   * content.
   */
  #firstKept({ history }: Task): number {
    const needed = firstNeeded(history, this.#need);
    let first = history.length;
    for (let size = 0; first > this.#settled; first--) {
      size += charactersIn(history[first - 1]);
      if (size > KEPT && first <= needed) break;
    }
    return first;
  }
}

/** Returns the index of the first message whose content is needed. */
function firstNeeded(history: readonly Message[], need: HistoryNeed): number {
  if (need === "none") return history.length;
  const last = history.findLastIndex((each) => summaryOf(each) !== undefined);
  const summary = history[last];
  if (need === "all" || !summary) return 0;
  const kept = Math.max(0, summaryOf(summary)?.keptMessages ?? 0);
  return Math.max(0, last - kept);
}
