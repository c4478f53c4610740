import {
  type AuditRecord,
  type Task,
  type TaskCreated,
  TaskState,
} from "@devtool/schema";
import { Code, DevtoolError, hasCode, quoted } from "../errors.ts";
import type { ServerLoad } from "../server-load.ts";
import type { GoneTask, TaskChanges } from "../store/task-changes.ts";
import type { OpenTask } from "../task/open-task.ts";
import { listTaskIds, readHead } from "../task/read-task.ts";
import { TaskFeed } from "../task/task-feed.ts";
import { HeldTask } from "../task/task-handle.ts";
import { stopping } from "../task/turn-entries.ts";
import { deletionOf, type TaskDeleter } from "./deletion-of.ts";
import { FollowedTask } from "./followed-task.ts";
import {
  TaskOpener,
  type TaskOpenerOptions,
  type TaskPlace,
} from "./task-opener.ts";
import { WorkspaceReach } from "./workspace-reach.ts";

/**
 * The number of open tasks beyond which idle ones are closed, the least
 * recently used first.
 */
const MAX_IDLE_TASKS = 256;

/** The number of tasks whose questions are asked again after a restart. */
const MAX_ASKING_TASKS = 32;

interface OpenTasksOptions extends TaskOpenerOptions {
  /**
   * Throws when this server cannot work in the workspace of a task that another
   * one began. Default: it can in all.
   */
  readonly assertReachable?: ((workspacePath: string) => void) | undefined;
  /** Signs the audit record of a deletion. Default: it has no signature. */
  readonly sign?: ((record: AuditRecord) => Promise<AuditRecord>) | undefined;
  /**
   * Removes what agents keep of a task outside of the store. Default: nothing.
   */
  readonly forget?: ((taskId: string) => Promise<void>) | undefined;
}

/** Work of a server for its open tasks, beside that of their agents. */
export interface TaskCompanion {
  /** Called when a task that exists was opened, under its lease. */
  opened(openTask: OpenTask): void;
  /** Whether something is left to do for a task, so that it stays open. */
  isBusy(taskId: string): boolean;
  /** Called when a task is about to be closed. */
  closing(taskId: string): void;
}

/** An open task, with the number of its holders. */
interface OpenEntry {
  /** Resolves to undefined when the store has no such task. */
  readonly opening: Promise<OpenTask | undefined>;
  holders: number;
}

/**
 * The open tasks of this process. Each task is open at most once, and under a
 * lease where other servers use the store, so that its log has one writer.
 */
export class OpenTasks implements AsyncDisposable {
  /** The changes of the open tasks. */
  readonly feed: TaskFeed = new TaskFeed();
  /** The changes that other servers make; undefined when none use the store. */
  readonly changes: TaskChanges | undefined;
  /** The workspaces in which this server can work. */
  readonly reach: WorkspaceReach;
  readonly #options: OpenTasksOptions;
  /** The open tasks by id, the least recently used first. */
  readonly #tasks = new Map<string, OpenEntry>();
  readonly #opener: TaskOpener;
  /** The tasks that are being closed because they failed. */
  readonly #closing = new Set<Promise<void>>();
  /** Why the store refused tasks that have not been opened again. */
  readonly #refused = new Map<string, DevtoolError>();
  readonly #deleted: Disposable | undefined;
  #companion: TaskCompanion | undefined;
  #isStopping = false;
  /** The number of tasks that were closed because too many were open. */
  #evicted = 0;

  constructor(options: OpenTasksOptions) {
    this.#options = options;
    this.changes = options.shared?.changes;
    this.reach = new WorkspaceReach(
      options.store,
      options.shared && options.assertReachable,
    );
    this.#opener = new TaskOpener(options, this.reach, this.feed);
    this.#deleted = this.changes?.watchDeleted(
      (task) => void this.#noteDeleted(task),
    );
  }

  /**
   * Sets the companion of open tasks, such as their notifications. Default:
   * none.
   */
  accompany(companion: TaskCompanion): void {
    this.#companion = companion;
  }

  /** Creates a task and starts its agent. Resolves when the task is durable. */
  async create(
    taskId: string,
    place: TaskPlace,
    created: TaskCreated,
  ): Promise<HeldTask> {
    if (this.#isStopping) throw stopping();
    const opening = this.#opener.create(taskId, place, created, (openTask) =>
      this.#closeLater(openTask),
    );
    using held = await this.#hold(taskId, { opening, holders: 0 });
    await this.#closeIdle();
    if (!held) {
      throw new DevtoolError(
        `task ${JSON.stringify(taskId)} was not created`,
        Code.Internal,
      );
    }
    return held.hold();
  }

  /**
   * Returns a task, which is opened when it is not open, or a handle that asks
   * the server which runs it. Undefined when the store has no such task.
   */
  async get(taskId: string): Promise<HeldTask | undefined> {
    const own = await this.own(taskId);
    if (own) return own;
    const { store, shared } = this.#options;
    const head = shared && (await readHead(store, taskId, "none"));
    if (!head) return undefined;
    const unreachable = this.reach.problemOf(
      head.task.settings?.workspacePath ?? "",
    );
    return new HeldTask(
      new FollowedTask({ store, shared, head, unreachable }),
      { holders: 0 },
    );
  }

  /**
   * Returns an open task. Undefined when the store has no such task, or another
   * server runs it.
   */
  async own(taskId: string): Promise<HeldTask<OpenTask> | undefined> {
    const open = this.#tasks.get(taskId);
    if (!open && this.#isStopping) throw stopping();
    const task = open ?? { opening: this.#load(taskId), holders: 0 };
    using held = await this.#hold(taskId, task);
    if (held && !(await held.handle.isCurrent())) {
      const { refusal } = held.handle.log;
      if (refusal) this.#refused.set(taskId, refusal);
      if (this.#tasks.get(taskId) === task) {
        this.#forget(taskId, held.handle.task);
        this.#closeLater(held.handle);
      }
      return this.own(taskId);
    }
    await this.#closeIdle();
    return held?.hold();
  }

  /**
   * Opens the tasks that a stop of the server interrupted, so that each
   * continues. Must be called before the first request.
   *
   * @param working the names of the agents that work beside their questions
   * @param onDamaged called with the error of each task whose log is damaged,
   * which stays as it is
   */
  async recover(
    working: readonly string[],
    onDamaged: (reason: DevtoolError) => void,
  ): Promise<void> {
    const interrupted = [
      { state: TaskState.SUBMITTED },
      { state: TaskState.WORKING },
      ...working.map((agent) => ({ state: TaskState.INPUT_REQUIRED, agent })),
    ];
    for (const query of interrupted) {
      // All ids first: a task that continues leaves its place in the list.
      const ids = await Array.fromAsync(
        listTaskIds(this.#options.store, query),
      );
      for (const taskId of ids) {
        try {
          using _opened = await this.own(taskId);
        } catch (cause) {
          if (!hasCode(cause, Code.DataLoss)) throw cause;
          const problem = `task ${quoted(taskId)} does not continue: its log is damaged`;
          onDamaged(
            new DevtoolError(problem, Code.DataLoss, {
              remedy: "restore the store from a backup",
              cause,
            }),
          );
        }
      }
    }
  }

  /**
   * Has agents ask questions that wait since before the start where users answer
   * them outside of the protocol: those of the tasks that changed last, because
   * each has a turn until it is answered. Never rejects.
   */
  async askElsewhere(): Promise<void> {
    const { store, shared } = this.#options;
    // Any server may take the answer, and then runs the task.
    if (shared) return;
    const state = TaskState.INPUT_REQUIRED;
    const waiting = store.list({ state, limit: MAX_ASKING_TASKS });
    const { tasks } = await waiting.catch(() => ({ tasks: [] }));
    for (const { last } of tasks) {
      try {
        using held = await this.own(last.taskId);
        await held?.handle.askElsewhere();
      } catch {
        // Who opens the task for its sake has the error.
      }
    }
  }

  /**
   * Stops all agents, and refuses to open more tasks. The tasks are left as a
   * crash would leave them. Open tasks can still be read, but refuse messages.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#eachTask((openTask) => openTask.stop());
  }

  /**
   * Counts the open tasks, and the messages that wait for their turns. Returns
   * also the last sequence of each open task.
   */
  async load(): Promise<
    Pick<ServerLoad, "openTasks" | "evictedTasks" | "waitingMessages"> & {
      readonly sequences: ReadonlyMap<string, bigint>;
    }
  > {
    let waitingMessages = 0;
    const sequences = new Map<string, bigint>();
    await this.#eachTask(async ({ task }) => {
      waitingMessages += task.queuedMessages.length;
      sequences.set(task.id, task.sequence);
    });
    return {
      openTasks: this.#tasks.size,
      evictedTasks: this.#evicted,
      waitingMessages,
      sequences,
    };
  }

  /** Throws for a task that its caller may not delete yet. */
  async assertDeletable(task: Task): Promise<void> {
    await this.#options.budgets?.assertDeletable(task);
  }

  /**
   * Deletes a task that has ended, as it is known here, with all that the store
   * has of it, and ends its readers.
   *
   * Rejects with `Code.FailedPrecondition` for a task that has not ended, and
   * with `Code.Aborted` when it has changed meanwhile.
   */
  async delete(
    task: Pick<Task, "id" | "contextId" | "principal" | "sequence" | "state">,
    by: TaskDeleter,
  ): Promise<void> {
    const { store, now, sign, forget } = this.#options;
    const deletion = await deletionOf(store, task, by, now());
    const record = (await sign?.(deletion.record)) ?? deletion.record;
    // The log has nothing after the end of the task. What a crash leaves in the
    // store after this can be deleted again.
    await forget?.(task.id);
    await store.delete({ ...deletion, record });
    const { id: taskId, contextId, principal } = task;
    await this.#noteDeleted({ taskId, contextId, principal });
  }

  /** Ends what this server does for a task that was deleted. */
  async #noteDeleted(task: GoneTask): Promise<void> {
    this.feed.noteDeleted(task);
    this.#opener.noteDeleted(task.taskId);
    const entry = this.#tasks.get(task.taskId);
    // The caller that opened the task has the error.
    const openTask = await entry?.opening.catch(() => undefined);
    if (!openTask) return;
    openTask.log.noteDeleted();
    if (this.#tasks.get(task.taskId) !== entry) return;
    this.#forget(task.taskId, openTask.task);
    this.#closeLater(openTask);
  }

  /** Stops all agents and closes all tasks. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#deleted?.[Symbol.dispose]();
    await this.stop();
    await this.#eachTask((openTask) => openTask[Symbol.asyncDispose]());
    await Promise.all(this.#closing);
    this.#tasks.clear();
  }

  async #eachTask(run: (openTask: OpenTask) => Promise<void>): Promise<void> {
    const opened = [...this.#tasks.values()].map(async ({ opening }) => {
      // The caller that opened the task has the error.
      const openTask = await opening.catch(() => undefined);
      if (openTask) await run(openTask);
    });
    await Promise.all(opened);
  }

  /**
   * Waits until a task is open and holds it. Removes the task from the
   * registry when it cannot be opened.
   */
  async #hold(
    taskId: string,
    task: OpenEntry,
  ): Promise<HeldTask<OpenTask> | undefined> {
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, task);
    // Counts as a holder, so that the task is not closed before the caller has
    // it.
    task.holders++;
    try {
      const openTask = await task.opening;
      if (!openTask) this.#tasks.delete(taskId);
      return openTask && new HeldTask(openTask, task);
    } catch (reason) {
      this.#tasks.delete(taskId);
      throw reason;
    } finally {
      task.holders--;
    }
  }

  /**
   * Opens a task of the store. Undefined when there is no such task, or another
   * server runs it.
   */
  async #load(taskId: string): Promise<OpenTask | undefined> {
    const refusal = this.#refused.get(taskId);
    const openTask = await this.#opener.load(taskId, refusal);
    this.#refused.delete(taskId);
    if (openTask) this.#companion?.opened(openTask);
    return openTask;
  }

  #forget(taskId: string, task: Task): void {
    this.#tasks.delete(taskId);
    this.#companion?.closing(taskId);
    this.#opener.leave(task);
  }

  /**
   * Closes a task that failed. Nobody waits but the server when it closes,
   * because the agent may take a while to end.
   */
  #closeLater(openTask: OpenTask): void {
    const closing = openTask
      .close()
      .catch(() => undefined)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async #closeIdle(): Promise<void> {
    for (const [taskId, task] of this.#tasks) {
      if (this.#tasks.size <= MAX_IDLE_TASKS) return;
      if (task.holders > 0 || this.#companion?.isBusy(taskId)) continue;
      const openTask = await task.opening.catch(() => undefined);
      // Meanwhile the task may have got a holder, or been closed.
      if (
        !openTask?.idle ||
        task.holders > 0 ||
        this.#tasks.get(taskId) !== task
      ) {
        continue;
      }
      this.#forget(taskId, openTask.task);
      this.#evicted++;
      await openTask.close();
    }
  }
}
