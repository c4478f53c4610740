import { timestampMs } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import type {
  TaskState,
  TaskSummary,
  WatchTasksResponse,
} from "@devtool/schema";
import type { DevtoolClient } from "../devtool-client.ts";
import { callWithRetry, type ResumeOptions, repeatStream } from "../resume.ts";
import { Listeners } from "./listeners.ts";
import { type Schedule, scheduleFrame } from "./schedule.ts";

/**
 * What a list shows at one moment. It is never changed, and neither is anything
 * in it.
 */
export interface SessionListSnapshot {
  /**
   * The caller's tasks with their last events, the last changed first. Tasks
   * that have not changed are the same objects as in the snapshot before.
   */
  readonly sessions: readonly TaskSummary[];
  /**
   * Whether the tasks that changed last were read. False until the first answer
   * of the server.
   */
  readonly isLoaded: boolean;
  /**
   * Whether `loadMore` may find older tasks.
   */
  readonly hasMore: boolean;
  /**
   * Why the connection was lost, while the list tries to restore it; otherwise
   * undefined.
   */
  readonly lost: ConnectError | undefined;
  /**
   * Why reading ended early: an error that a retry cannot fix, such as
   * `Code.Unimplemented` over A2A. Undefined while the list reads.
   */
  readonly error: ConnectError | undefined;
}

/**
 * Options of `createSessionList`. A list tries to reconnect without end, unless
 * `maxAttempts` is set.
 */
export interface SessionListOptions extends Omit<ResumeOptions, "onLost"> {
  /**
   * Which tasks to show.
   *
   * Default: all of the caller's.
   */
  readonly filter?: SessionFilter;
  /**
   * The number of tasks to read at first, and with each `loadMore`: 1 to 100.
   *
   * Default: 50.
   */
  readonly pageSize?: number;
  /**
   * When listeners are notified of changes, as for `createTaskView`.
   */
  readonly schedule?: Schedule;
  /**
   * What the program calls itself, for people: at most 64 visible characters.
   * It is recorded with each new title.
   *
   * Default: nothing.
   */
  readonly clientLabel?: string;
}

/**
 * Selects tasks. Fields that are missing or empty select all.
 */
export interface SessionFilter {
  /**
   * Only tasks in this state.
   */
  readonly state?: TaskState;
  /**
   * Only tasks of the agent with this name.
   */
  readonly agent?: string;
  /**
   * Only tasks in this workspace: its absolute path, as `TaskSummary` has it.
   */
  readonly workspacePath?: string;
  /**
   * Only tasks whose title contains this text, in upper or lower case.
   */
  readonly titleContains?: string;
  /**
   * Whether to show the tasks of all callers, without what was said in them. It
   * needs the right `list_all`. Default: those of the caller.
   */
  readonly allCallers?: boolean;
}

/**
 * The caller's tasks, for user interfaces, as they are now. It needs a server
 * with `WatchTasks`, over Connect or gRPC.
 */
export interface SessionList {
  /**
   * Calls a function after each change of the snapshot. Returns a function that
   * unsubscribes it.
   */
  subscribe(listener: () => void): () => void;
  /**
   * Returns what the list shows. It is the same object until listeners are
   * notified again.
   */
  snapshot(): SessionListSnapshot;
  /**
   * Reads the list and its changes until the signal aborts, over one stream for
   * all tasks. A lost connection is restored.
   *
   * Resolves when the signal aborts. Rejects with errors that a retry cannot
   * fix.
   */
  follow(signal: AbortSignal): Promise<void>;
  /**
   * Adds older tasks to the list: reads pages of `pageSize` tasks until one has
   * a task that is new to the list, or there are no more.
   *
   * A lost connection is restored. Rejects with errors that a retry cannot fix,
   * and with the signal's reason when it aborts.
   */
  loadMore(signal: AbortSignal): Promise<void>;
  /**
   * Gives a task another title: at most 80 characters on one line. Resolves
   * when the server has it; the snapshot shows it when `follow` has read it.
   * Rejects with the error of the server, such as `Code.InvalidArgument` for a
   * title that it refuses. The request is not repeated after a lost connection.
   */
  rename(taskId: string, title: string, signal: AbortSignal): Promise<void>;
}

/**
 * Creates a list of the caller's tasks.
 *
 * ```ts
 * const list = createSessionList(client);
 * list.subscribe(() => render(list.snapshot().sessions));
 * await list.follow(signal);
 * ```
 */
export function createSessionList(
  client: DevtoolClient,
  options: SessionListOptions = {},
): SessionList {
  return new WatchedList(client, options);
}

class WatchedList implements SessionList {
  readonly #client: DevtoolClient;
  readonly #pageSize: number;
  readonly #filter: SessionFilter;
  readonly #clientLabel: string;
  readonly #resume: ResumeOptions;
  readonly #listeners: Listeners;
  #tasks: ReadonlyMap<string, TaskSummary> = new Map();
  /**
   * The ids of those tasks that the filter does not select any more. They are
   * kept because an older page may still show them.
   */
  readonly #excluded = new Set<string>();
  #isLoaded = false;
  #hasMore = false;
  /**
   * The token of the page that `loadMore` reads next.
   */
  #nextPage = "";
  /**
   * The ids of tasks that were deleted. A page that was read before may still
   * have them. Tasks never use an id again.
   */
  readonly #removed = new Set<string>();
  /**
   * The number of streams that have started.
   */
  #starts = 0;
  #lost: ConnectError | undefined;
  #error: ConnectError | undefined;
  #snapshot: SessionListSnapshot;

  constructor(client: DevtoolClient, options: SessionListOptions) {
    const {
      pageSize = 50,
      filter = {},
      clientLabel = "",
      schedule = scheduleFrame,
    } = options;
    this.#client = client;
    this.#pageSize = pageSize;
    this.#filter = filter;
    this.#clientLabel = clientLabel;
    this.#resume = {
      maxAttempts: Number.POSITIVE_INFINITY,
      ...options,
      onLost: (error) => {
        this.#lost = error;
        this.#listeners.change();
      },
    };
    this.#listeners = new Listeners(schedule, () => {
      this.#snapshot = this.#takeSnapshot();
    });
    this.#snapshot = this.#takeSnapshot();
  }

  // React calls both without the list.
  readonly subscribe = (listener: () => void): (() => void) =>
    this.#listeners.add(listener);

  readonly snapshot = (): SessionListSnapshot => this.#snapshot;

  async follow(signal: AbortSignal): Promise<void> {
    this.#error = undefined;
    try {
      const changes = repeatStream(
        (limit) => this.#watch(limit),
        this.#resume,
        signal,
      );
      for await (const { task, excluded, removed } of changes) {
        if (!task) continue;
        if (removed) {
          this.#drop([task.id]);
        } else {
          this.#put([task], excluded ? [task.id] : []);
        }
      }
    } catch (reason) {
      if (signal.aborted) return;
      this.#error = ConnectError.from(reason);
      this.#listeners.change();
      throw reason;
    } finally {
      this.#lost = undefined;
      this.#listeners.flush();
    }
  }

  async loadMore(signal: AbortSignal): Promise<void> {
    const { size } = this.#tasks;
    do {
      const starts = this.#starts;
      const request = {
        ...this.#filter,
        pageSize: this.#pageSize,
        pageToken: this.#nextPage,
      };
      const { tasks, nextPageToken } = await callWithRetry(
        (limit) => this.#client.tasks.listTasks(request, { signal: limit }),
        this.#resume,
        signal,
      );
      // The list may have been rebuilt meanwhile, and tasks of the page deleted
      // while no stream told it.
      if (starts !== this.#starts) break;
      this.#nextPage = nextPageToken;
      this.#hasMore = nextPageToken !== "";
      this.#put(tasks);
    } while (this.#hasMore && this.#tasks.size === size);
    this.#listeners.flush();
  }

  async rename(
    taskId: string,
    title: string,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#client.tasks.renameTask(
      { taskId, title, clientLabel: this.#clientLabel },
      { signal },
    );
  }

  /**
   * Opens a stream, adds the tasks that it starts with, and yields the changes
   * that follow.
   */
  async *#watch(signal: AbortSignal): AsyncIterable<WatchTasksResponse> {
    const start: TaskSummary[] = [];
    let isStarted = false;
    const request = { ...this.#filter, snapshotSize: this.#pageSize };
    for await (const response of this.#client.tasks.watchTasks(request, {
      signal,
    })) {
      if (this.#lost) this.#listeners.change();
      this.#lost = undefined;
      if (isStarted) {
        yield response;
      } else if (response.snapshotComplete) {
        isStarted = true;
        this.#start(start);
      } else if (response.task) {
        start.push(response.task);
      }
    }
  }

  /**
   * Takes over the tasks at the start of a stream.
   *
   * They are the last changed first. So if one of them has not changed since an
   * earlier stream, the older ones have not either. Otherwise others may have
   * changed that the stream does not name. With a filter they may always have:
   * it does not name those that the filter does not select any more.
   */
  #start(tasks: readonly TaskSummary[]): void {
    this.#starts++;
    const isFiltered = Object.values(this.#filter).some(Boolean);
    const isConnected = tasks.some(
      (task) => sequenceOf(this.#tasks.get(task.id)) === sequenceOf(task),
    );
    if (isFiltered || !isConnected) {
      this.#tasks = new Map();
      this.#excluded.clear();
      this.#removed.clear();
      this.#nextPage = "";
      this.#hasMore = tasks.length >= this.#pageSize;
    } else {
      this.#drop(this.#missingIn(tasks));
    }
    this.#isLoaded = true;
    this.#put(tasks);
  }

  /**
   * Lists the tasks that the start of a stream would have and does not: they
   * were deleted since an earlier stream.
   */
  #missingIn(tasks: readonly TaskSummary[]): string[] {
    const there = new Set(tasks.map(({ id }) => id));
    const last = tasks.length < this.#pageSize ? undefined : tasks.at(-1);
    return [...this.#tasks.values()]
      .filter((task) => !there.has(task.id))
      .filter((task) => !last || timeOf(task) > timeOf(last))
      .map(({ id }) => id);
  }

  /** Removes tasks that were deleted. */
  #drop(ids: readonly string[]): void {
    const tasks = new Map(this.#tasks);
    for (const id of ids) {
      tasks.delete(id);
      this.#excluded.delete(id);
      this.#removed.add(id);
    }
    this.#tasks = tasks;
    this.#listeners.change();
  }

  /**
   * Takes over the tasks that are newer than those of the list.
   *
   * @param excluded the ids of those among them that the filter does not select
   */
  #put(tasks: readonly TaskSummary[], excluded: readonly string[] = []): void {
    const newer = tasks.filter(
      (task) =>
        !this.#removed.has(task.id) &&
        sequenceOf(task) > sequenceOf(this.#tasks.get(task.id)),
    );
    for (const { id } of newer) {
      if (excluded.includes(id)) {
        this.#excluded.add(id);
      } else {
        this.#excluded.delete(id);
      }
    }
    this.#tasks = new Map([
      ...this.#tasks,
      ...newer.map((task) => [task.id, task] as const),
    ]);
    this.#listeners.change();
  }

  #takeSnapshot(): SessionListSnapshot {
    return {
      sessions: [...this.#tasks.values()]
        .filter(({ id }) => !this.#excluded.has(id))
        // As `ListTasks` sorts them: the last changed first, and by descending
        // id at the same time.
        .sort(
          (one, other) =>
            timeOf(other) - timeOf(one) || (one.id < other.id ? 1 : -1),
        ),
      isLoaded: this.#isLoaded,
      hasMore: this.#hasMore,
      lost: this.#lost,
      error: this.#error,
    };
  }
}

function sequenceOf(task: TaskSummary | undefined): bigint {
  return task?.lastEvent?.sequence ?? 0n;
}

function timeOf({ lastEvent }: TaskSummary): number {
  return lastEvent?.time ? timestampMs(lastEvent.time) : 0;
}
