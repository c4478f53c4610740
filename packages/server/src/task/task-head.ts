import {
  create,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type ApprovalMode,
  type GoalState,
  LazyFold,
  lastStepIndex,
  type Message,
  MessageSchema,
  StoredHeadSchema,
  summaryOf,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  type TaskState,
  ToolCallDetailSchema,
} from "@devtool/schema";
import { isPrompt } from "../agent/turn-news.ts";
import type { HeadRow } from "../store/task-store.ts";
import { VERSION } from "../version.ts";
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
/**
 * By how much a log grows, with what its events take in memory, before the
 * store gets its head: that of 8,000 short events, which take about 0.1 s to
 * fold.
 */
const MIN_UNSTORED = 4 * 1024 * 1024;
/**
 * By how many times the size of the stored head a log grows before that is
 * replaced: with many messages, it has megabytes itself.
 */
const UNSTORED_HEADS = 4;
/**
 * What folded the events of a head: the release and, since what is built between
 * two releases has the number of the first, how many fields it knew.
 */
const FOLDED_BY = [
  VERSION,
  ...[TaskSchema, TaskEventSchema, MessageSchema, ToolCallDetailSchema].map(
    ({ fields }) => fields.length,
  ),
].join(" ");

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
  #fold: LazyFold;
  readonly #need: HistoryNeed;
  /** The limit as the log has it, which that of an open task may be below. */
  readonly #approvalLimit: ApprovalMode | undefined;
  #unfolded = 0;
  #growth = 0;
  /** The number of messages before those that have their content. */
  #dropped = 0;
  #hasArtifacts = true;
  /** The parts of the log that have the artifacts, with events between them. */
  readonly #artifacts: LogRange[] = [];
  /** The number of messages that had no content and do not change any more. */
  #settled = 0;
  /** Whether content may be missing that the agent needs. */
  #mayLack = false;
  /** By how much the log grew since the store has its head. */
  #unstored = 0;
  /** The size in bytes of the head that the store has; 0 for none. */
  #storedBytes = 0;

  /**
   * @param task the task before the first event
   * @param head the head as which the task was read, which may have another
   * approval limit. Default: the task has all its content
   */
  constructor(task: Task, need: HistoryNeed, head?: TaskHead) {
    this.#fold = new LazyFold(task, head?.starts);
    this.#need = need;
    this.#approvalLimit = head?.task.approvalLimit;
    if (!head) {
      if (task.artifacts.length > 0) {
        this.#artifacts.push({ from: 1n, to: task.sequence });
      }
      return;
    }
    this.#dropped = head.#dropped;
    this.#mayLack = head.#dropped > 0;
    this.#settled = head.#settled;
    this.#hasArtifacts = head.#hasArtifacts;
    this.#artifacts.push(...head.#artifacts);
    this.#unstored = head.#unstored;
    this.#storedBytes = head.#storedBytes;
  }

  /**
   * Reads a head that `store` has made. Undefined for one of another build, and
   * one that is damaged: the log has all.
   */
  static from(data: Uint8Array, need: HistoryNeed): TaskHead | undefined {
    const stored = decode(data);
    if (stored?.version !== FOLDED_BY || !stored.task) return undefined;
    const { task, starts, artifactRanges } = stored;
    const head = new TaskHead(task, need);
    head.#fold = new LazyFold(task, starts.map(Number));
    head.#dropped = task.history.length;
    head.#mayLack = true;
    head.#settle(task, head.#dropped);
    head.#hasArtifacts = task.artifacts.length === 0;
    const ranges = artifactRanges.flatMap((from, at) =>
      at % 2 === 0 ? [{ from, to: artifactRanges[at + 1] ?? from }] : [],
    );
    head.#artifacts.splice(0, head.#artifacts.length, ...ranges);
    head.#storedBytes = data.length;
    return head;
  }

  /** Whether the log grew so much that the store should get its head. */
  get isDue(): boolean {
    const least = Math.max(MIN_UNSTORED, UNSTORED_HEADS * this.#storedBytes);
    return this.#unstored > least;
  }

  /** Returns the head as a store keeps it, without content. */
  store(): HeadRow {
    const task = this.#fold.withoutContent();
    const approvalLimit = this.#approvalLimit ?? task.approvalLimit;
    const stored = create(StoredHeadSchema, {
      version: FOLDED_BY,
      task: { ...task, approvalLimit },
      starts: this.starts.map(BigInt),
      artifactRanges: this.#artifacts.flatMap(({ from, to }) => [from, to]),
    });
    const data = toBinary(StoredHeadSchema, stored);
    this.#unstored = 0;
    this.#storedBytes = data.length;
    return { taskId: task.id, sequence: task.sequence, data };
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

  /**
   * Whether a message after the first has brought MCP servers. Needs no fold.
   */
  get hasAddedServers(): boolean {
    return this.#fold.hasAddedServers;
  }

  /** The state of the goal after the last event. Needs no fold. */
  get goalState(): GoalState {
    return this.#fold.goalState;
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
    this.#unstored += characters + EVENT_BYTES;
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

  /** The number of the last messages whose content the agent needs. */
  get neededMessages(): number {
    const { history } = this.task;
    return history.length - firstNeeded(history, this.#need);
  }

  /** Whether the agent finds the content of all messages that it needs. */
  get hasNeeded(): boolean {
    // Each turn asks: it looks at no message of what was kept on purpose.
    if (!this.#mayLack) return true;
    return this.task.history.length - this.neededMessages >= this.#dropped;
  }

  /** Takes the history with the content that the agent needs. */
  takeNeeded(history: Message[]): void {
    const { task, starts } = this;
    this.#fold = new LazyFold({ ...task, history }, starts);
    this.#dropped = history.length - this.neededMessages;
    this.#mayLack = false;
    this.#settled = Math.min(this.#settled, this.#dropped);
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
    this.#settle(task, to);
  }

  /** Notes which of the messages before an index do not change any more. */
  #settle(task: Task, to: number): void {
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

function decode(
  data: Uint8Array,
): MessageShape<typeof StoredHeadSchema> | undefined {
  try {
    return fromBinary(StoredHeadSchema, data);
  } catch {
    return undefined;
  }
}
