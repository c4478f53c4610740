import { create } from "@bufbuild/protobuf";
import {
  type StoredWebPush,
  StoredWebPushSchema,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { Code, hasCode } from "../errors.ts";
import {
  CANCELED_OPERATION,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";
import type { GoneTask } from "../store/task-changes.ts";
import type { ListedTask, TaskStore } from "../store/task-store.ts";
import { Bell } from "../stream/bell.ts";
import type { Clock } from "./clock.ts";
import type { PostOutcome } from "./notification.ts";
import { GIVE_UP_MS, retryDelayMs } from "./retry-schedule.ts";
import { postWebPush, type WebPushSender } from "./web-push.ts";

/** The states in which a task waits for its user. */
export const WAITING: readonly TaskState[] = [
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
];

/** The maximum number of tasks that are stored as told, for each browser. */
const MAX_TOLD = 200;

/** A browser that is notified of tasks that wait. */
export interface NotifiedBrowser {
  /** The id of its session. */
  readonly id: string;
  readonly principal: string;
  /** The roles of its session. */
  readonly roles: readonly string[];
  readonly webPush: StoredWebPush;
  /** Aborts when the session ends. */
  readonly ended: AbortSignal;
}

/** Keeps how browsers are notified, with their sessions. */
export interface WebPushBrowsers {
  /** Lists the browsers that are notified. */
  notified(): readonly NotifiedBrowser[];
  /** Stores how a browser is notified; undefined ends that. */
  setWebPush(id: string, webPush: StoredWebPush | undefined): Promise<void>;
}

/** Dependencies that the deliveries to all browsers share. */
export interface WebPushServices {
  readonly browsers: WebPushBrowsers;
  readonly store: TaskStore;
  readonly sender: WebPushSender;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onError: (reason: unknown) => void;
  /** What the server's observer hears. Undefined: there is none. */
  readonly operations: Operations | undefined;
}

/**
 * Tells one browser of the tasks that wait, one after the other, each at least
 * once for each time when it begins to wait.
 */
export class WebPushDelivery {
  readonly browser: NotifiedBrowser;
  readonly #services: WebPushServices;
  readonly #signal: AbortSignal;
  readonly #bell: Bell;
  /** The tasks that wait and may not be told yet, by their ids. */
  readonly #waiting = new Map<string, ListedTask>();
  /** The sequences of the events up to which tasks are told, by their ids. */
  readonly #told: Map<string, bigint>;
  /** The number of posts that failed since the last one that was taken. */
  #failures = 0;
  /** The time in milliseconds that was spent on them, with their delays. */
  #failedMs = 0;

  /** @param signal stops the delivery */
  constructor(
    services: WebPushServices,
    browser: NotifiedBrowser,
    signal: AbortSignal,
  ) {
    this.#services = services;
    this.browser = browser;
    this.#signal = signal;
    this.#bell = new Bell(signal);
    this.#told = new Map(Object.entries(browser.webPush.told));
  }

  /** Takes a change of a task of the browser's principal. */
  take(task: ListedTask | GoneTask): void {
    if ("last" in task && WAITING.includes(task.last.state)) {
      this.#waiting.set(task.last.taskId, task);
      this.#bell.ring();
      return;
    }
    const taskId = "last" in task ? task.last.taskId : task.taskId;
    this.#waiting.delete(taskId);
    this.#told.delete(taskId);
  }

  /**
   * Tells of tasks until it is stopped, or until the browser is gone: its push
   * service says so, or has taken nothing in a day of attempts and the delays
   * between them, however many tasks that were.
   */
  async run(): Promise<"stopped" | "gone"> {
    const { clock, random, onError } = this.#services;
    const signal = this.#signal;
    while (!signal.aborted) {
      this.#bell.reset();
      try {
        for (const taskId of this.#waiting.keys()) {
          if ((await this.#tell(taskId)) === "gone") return "gone";
        }
        await this.#bell.rung;
      } catch (reason) {
        if (signal.aborted) break;
        // Others tell of a store that is away.
        if (!hasCode(reason, Code.Unavailable)) onError(reason);
        const delayMs = retryDelayMs(1, random());
        await clock.sleep(delayMs, signal).catch(() => undefined);
      }
    }
    return "stopped";
  }

  /** Tells of a task, again until the push service takes it. */
  async #tell(taskId: string): Promise<"done" | "gone"> {
    const { clock, random } = this.#services;
    for (;;) {
      const task = this.#waiting.get(taskId);
      if (!task) return "done";
      if (!(await this.#isNew(task.last))) return this.#settle(task);
      const startMs = clock.monotonic();
      const outcome = await this.#post(task);
      if (outcome.case === "delivered") {
        this.#failures = 0;
        this.#failedMs = 0;
        this.#told.delete(taskId);
        this.#told.set(taskId, task.last.sequence);
        await this.#save();
        return this.#settle(task);
      }
      if (outcome.case === "gone") return "gone";
      this.#failures++;
      this.#failedMs += clock.monotonic() - startMs;
      if (this.#failedMs >= GIVE_UP_MS) return "gone";
      const delayMs = retryDelayMs(
        this.#failures,
        random(),
        outcome.retryAfterMs,
      );
      this.#failedMs += delayMs;
      await clock.sleep(delayMs, this.#signal);
    }
  }

  #settle(task: ListedTask): "done" {
    const { taskId } = task.last;
    if (this.#waiting.get(taskId) === task) this.#waiting.delete(taskId);
    return "done";
  }

  /** Whether a task has begun to wait since it was told. */
  async #isNew({ taskId, sequence }: TaskEvent): Promise<boolean> {
    const told = this.#told.get(taskId);
    if (told === undefined) return true;
    if (sequence <= told) return false;
    for await (const event of this.#services.store.readEvents(taskId, told)) {
      if (!WAITING.includes(event.state)) return true;
    }
    // These events are not read again.
    this.#told.set(taskId, sequence);
    return false;
  }

  async #post(task: ListedTask): Promise<PostOutcome> {
    const { id, principal, webPush } = this.browser;
    const { taskId, contextId } = task.last;
    const operation = this.#services.operations?.begin({
      kind: "post",
      name: URL.parse(webPush.endpoint)?.origin ?? "",
      ...{ principal, taskId, contextId, subjectId: id },
    });
    let end = CANCELED_OPERATION;
    try {
      const { sender } = this.#services;
      const outcome = await postWebPush(webPush, task, sender, this.#signal);
      end =
        outcome.case === "delivered"
          ? SUCCEEDED
          : { outcome: "failed", error: outcome.reason };
      return outcome;
    } finally {
      operation?.finish(end);
    }
  }

  async #save(): Promise<void> {
    // The session may have another subscription by now.
    this.#signal.throwIfAborted();
    const { id, webPush } = this.browser;
    const told = Object.fromEntries([...this.#told].slice(-MAX_TOLD));
    const saved = create(StoredWebPushSchema, { ...webPush, told });
    await this.#services.browsers.setWebPush(id, saved);
  }
}
