import { timestampMs } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import type { TaskSummary, WatchTasksResponse } from "@devtool/schema";
import type { DevtoolClient } from "../devtool-client.ts";
import { callWithRetry, type ResumeOptions, repeatStream } from "../resume.ts";
import { Listeners } from "./listeners.ts";
import { type Schedule, scheduleFrame } from "./schedule.ts";

/**
 * What a list shows at one moment. Neither it nor anything in it changes.
 */
export interface SessionListSnapshot {
  /**
   * The caller's tasks with their last events, the last changed first. Tasks that have not changed
   * are the same objects as in the snapshot before.
   */
  readonly sessions: readonly TaskSummary[];
  /**
   * Whether the tasks that changed last were read. False until the first answer of the server.
   */
  readonly isLoaded: boolean;
  /**
   * Whether `loadMore` may find older tasks.
   */
  readonly hasMore: boolean;
  /**
   * Why the connection was lost, while the list tries to restore it; otherwise undefined.
   */
  readonly lost: ConnectError | undefined;
  /**
   * Why reading ended before its time: an error that a retry cannot fix, such as
   * `Code.Unimplemented` over A2A. Undefined while the list reads.
   */
  readonly error: ConnectError | undefined;
}

/**
 * Options of `createSessionList`. A list tries to reconnect without end, unless `maxAttempts` is
 * set.
 */
export interface SessionListOptions extends Omit<ResumeOptions, "onLost"> {
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
}

/**
 * The caller's tasks, for user interfaces, as they are now. It needs a server with `WatchTasks`, over
 * Connect or gRPC.
 */
export interface SessionList {
  /**
   * Calls a function after each change of the snapshot. Returns the function that ends that.
   */
  subscribe(listener: () => void): () => void;
  /**
   * Returns what the list shows. It is the same object until listeners are notified again.
   */
  snapshot(): SessionListSnapshot;
  /**
   * Reads the list and its changes until the signal aborts, over one stream for all tasks. A lost
   * connection is restored.
   *
   * Resolves when the signal aborts. Rejects with errors that a retry cannot fix.
   */
  follow(signal: AbortSignal): Promise<void>;
  /**
   * Adds older tasks to the list.
   */
  loadMore(signal: AbortSignal): Promise<void>;
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
export function createSessionList(client: DevtoolClient, options: SessionListOptions = {}): SessionList {
  return new WatchedList(client, options);
}

class WatchedList implements SessionList {
  readonly #client: DevtoolClient;
  readonly #pageSize: number;
  readonly #resume: ResumeOptions;
  readonly #listeners: Listeners;
  #tasks: ReadonlyMap<string, TaskSummary> = new Map();
  #isLoaded = false;
  #hasMore = false;
  /**
   * The token of the page that `loadMore` reads next.
   */
  #nextPage = "";
  #lost: ConnectError | undefined;
  #error: ConnectError | undefined;
  #snapshot: SessionListSnapshot;

  constructor(client: DevtoolClient, options: SessionListOptions) {
    const { pageSize = 50, schedule = scheduleFrame } = options;
    this.#client = client;
    this.#pageSize = pageSize;
    const onLost = (error: ConnectError): void => {
      this.#lost = error;
      this.#listeners.change();
    };
    this.#resume = { maxAttempts: Number.POSITIVE_INFINITY, ...options, onLost };
    this.#listeners = new Listeners(schedule, () => {
      this.#snapshot = this.#takeSnapshot();
    });
    this.#snapshot = this.#takeSnapshot();
  }

  // React calls both without the list.
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  readonly snapshot = (): SessionListSnapshot => this.#snapshot;

  async follow(signal: AbortSignal): Promise<void> {
    this.#error = undefined;
    try {
      const open = (limit: AbortSignal) => this.#watch(limit);
      for await (const { task } of repeatStream(open, this.#resume, signal)) {
        if (task) this.#put([task]);
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
      const request = { pageSize: this.#pageSize, pageToken: this.#nextPage };
      const list = (limit: AbortSignal) => this.#client.tasks.listTasks(request, { signal: limit });
      const { tasks, nextPageToken } = await callWithRetry(list, this.#resume, signal);
      this.#nextPage = nextPageToken;
      this.#hasMore = nextPageToken !== "";
      this.#put(tasks);
    } while (this.#hasMore && this.#tasks.size === size);
    this.#listeners.flush();
  }

  /**
   * Opens a stream, takes over its tasks at the start, and yields what changes then.
   */
  async *#watch(signal: AbortSignal): AsyncIterable<WatchTasksResponse> {
    const start: TaskSummary[] = [];
    let isStarted = false;
    for await (const response of this.#client.tasks.watchTasks({ snapshotSize: this.#pageSize }, { signal })) {
      if (this.#lost) this.#listeners.change();
      this.#lost = undefined;
      if (isStarted) yield response;
      else if (response.snapshotComplete) {
        isStarted = true;
        this.#start(start);
      } else if (response.task) start.push(response.task);
    }
  }

  /**
   * Takes over the tasks at the start of a stream.
   *
   * They are the last changed first. So if one of them has not changed since an earlier stream, the
   * older ones have not either. Otherwise others may have changed that the stream does not name.
   */
  #start(tasks: readonly TaskSummary[]): void {
    const isConnected = tasks.some((task) => sequenceOf(this.#tasks.get(task.id)) === sequenceOf(task));
    if (!isConnected) {
      this.#tasks = new Map();
      this.#nextPage = "";
      this.#hasMore = tasks.length >= this.#pageSize;
    }
    this.#isLoaded = true;
    this.#put(tasks);
  }

  #put(tasks: readonly TaskSummary[]): void {
    const newer = tasks.filter((task) => sequenceOf(task) > sequenceOf(this.#tasks.get(task.id)));
    this.#tasks = new Map([...this.#tasks, ...newer.map((task) => [task.id, task] as const)]);
    this.#listeners.change();
  }

  #takeSnapshot(): SessionListSnapshot {
    return {
      sessions: [...this.#tasks.values()].sort(compareByChange),
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

/**
 * Sorts tasks as `ListTasks` does: the last changed first, and by descending id at the same time.
 */
function compareByChange(one: TaskSummary, other: TaskSummary): number {
  return timeOf(other) - timeOf(one) || (one.id < other.id ? 1 : -1);
}

function timeOf({ lastEvent }: TaskSummary): number {
  return lastEvent?.time ? timestampMs(lastEvent.time) : 0;
}
