import { create } from "@bufbuild/protobuf";
import {
  type ApprovalMode,
  type Task,
  type TaskCreated,
  TaskSchema,
  TaskState,
} from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { Code, DevtoolError, isDataLoss, quoted } from "../errors.ts";
import type { TaskChanges } from "../store/task-changes.ts";
import type { TaskLease } from "../store/task-lease.ts";
import type { SharedTasks, TaskStore } from "../store/task-store.ts";
import { type Conversation, OpenConversations } from "./conversation.ts";
import { EventLog } from "./event-log.ts";
import { FollowedTask } from "./followed-task.ts";
import { HeldSession, type OpenTask } from "./held-session.ts";
import { listTaskIds, readTask } from "./read-task.ts";
import type { RecordedMessages } from "./recorded-messages.ts";
import type { TaskCompanion } from "./task-companion.ts";
import { TaskFeed } from "./task-feed.ts";
import { stopping, TaskSession } from "./task-session.ts";
import { WorkspaceReach } from "./workspace-reach.ts";

/**
 * The number of open tasks beyond which idle ones are closed, the least
 * recently used first.
 */
const MAX_IDLE_SESSIONS = 256;

/** Dependencies of `SessionRegistry`. */
export interface SessionRegistryOptions {
  readonly store: TaskStore;
  /** Creates the executor for a task, by its settings and command. */
  readonly createExecutor: (task: Task) => AgentExecutor;
  readonly now: () => Date;
  /**
   * The leases and the changes of a store that other servers use as well.
   * Default: none do.
   */
  readonly shared?: SharedTasks | undefined;
  /**
   * Throws when this server cannot work in the workspace of a task that another
   * one began. Default: it can in all.
   */
  readonly assertReachable?: ((workspacePath: string) => void) | undefined;
  /**
   * Finds copies of messages that come through other servers. Default: none do.
   */
  readonly messages?: RecordedMessages | undefined;
}

/** The conversation of a new task. */
export interface TaskPlace {
  readonly contextId: string;
  /**
   * Whether the extension is active in the conversation, or the request
   * activates it.
   */
  readonly extensionActive: boolean;
  /**
   * The id under which the agent keeps the conversation itself; empty for none.
   */
  readonly agentSessionId: string;
  /** The approval mode to which the task changes its session. Default: none. */
  readonly approvalMode?: ApprovalMode | undefined;
}

/**
 * The open tasks of this process. Each task is open at most once, and under a
 * lease where other servers use the store, so that its log has one writer.
 */
export class SessionRegistry implements AsyncDisposable {
  /** The changes of the open tasks. */
  readonly feed: TaskFeed = new TaskFeed();
  /** The changes that other servers make; undefined when none use the store. */
  readonly changes: TaskChanges | undefined;
  /** The workspaces in which this server can work. */
  readonly reach: WorkspaceReach;
  readonly #options: SessionRegistryOptions;
  /** The open tasks by id, the least recently used first. */
  readonly #tasks = new Map<string, OpenTask>();
  readonly #conversations = new OpenConversations();
  /** The sessions that are being closed because they failed. */
  readonly #closing = new Set<Promise<void>>();
  #companion: TaskCompanion | undefined;
  #isStopping = false;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
    this.changes = options.shared?.changes;
    this.reach = new WorkspaceReach(
      options.store,
      options.shared && options.assertReachable,
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
  ): Promise<HeldSession> {
    if (this.#isStopping) throw stopping();
    const { contextId, extensionActive, agentSessionId, approvalMode } = place;
    const { message, settings, sessionSettings, command, principal } = created;
    const unreachable = this.reach.problemOf(settings?.workspacePath ?? "");
    if (unreachable) throw unreachable;
    const blank = create(TaskSchema, { id: taskId, contextId });
    const history = message ? [message] : [];
    const described: Task = {
      ...blank,
      principal,
      history,
      settings,
      sessionSettings,
      command,
    };
    const executor = this.#options.createExecutor(described);
    const replyOnly = executor.answersWith?.(described) === "message";
    const session = this.#openInConversation(
      described,
      async (conversation) => {
        if (extensionActive) conversation.activateExtension();
        conversation.agentSessionId ||= agentSessionId;
        const lease = await this.#options.shared?.leases.create(taskId);
        const opened = this.#open(blank, executor, conversation, lease);
        try {
          await opened.create({ ...created, replyOnly }, approvalMode);
        } catch (reason) {
          this.#closeLater(opened);
          throw reason;
        }
        return opened;
      },
    );
    using held = await this.#hold(taskId, { opening: session, holders: 0 });
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
   * Returns a task: its session, which is opened when it is not open, or a
   * handle that asks the server which runs it. Undefined when the store has no
   * such task.
   */
  async get(taskId: string): Promise<HeldSession | undefined> {
    const own = await this.own(taskId);
    if (own) return own;
    const { store, shared } = this.#options;
    const task = shared && (await readTask(store, taskId));
    if (!task) return undefined;
    const unreachable = this.reach.problemOf(
      task.settings?.workspacePath ?? "",
    );
    return new HeldSession(
      new FollowedTask({ store, shared, task, unreachable }),
      { holders: 0 },
    );
  }

  /**
   * Returns the session of a task. Undefined when the store has no such task,
   * or another server runs it.
   */
  async own(taskId: string): Promise<HeldSession<TaskSession> | undefined> {
    const open = this.#tasks.get(taskId);
    if (!open && this.#isStopping) throw stopping();
    const task = open ?? { opening: this.#load(taskId), holders: 0 };
    using held = await this.#hold(taskId, task);
    if (held && !(await held.session.isCurrent())) {
      if (this.#tasks.get(taskId) === task) {
        this.#forget(taskId, held.session.task);
        this.#closeLater(held.session);
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
   * @param onDamaged called with the error of each task whose log is damaged,
   * which stays as it is
   */
  async recover(onDamaged: (reason: DevtoolError) => void): Promise<void> {
    for (const state of [TaskState.SUBMITTED, TaskState.WORKING]) {
      for (const taskId of await listTaskIds(this.#options.store, state)) {
        try {
          using _opened = await this.own(taskId);
        } catch (cause) {
          if (!isDataLoss(cause)) throw cause;
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
   * Stops all agents, and refuses to open more tasks. The tasks are left as a
   * crash would leave them. Open tasks can still be read, but refuse messages.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#eachSession((session) => session.stop());
  }

  /** Stops all agents and closes all tasks. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#eachSession((session) => session[Symbol.asyncDispose]());
    await Promise.all(this.#closing);
    this.#tasks.clear();
  }

  async #eachSession(
    run: (session: TaskSession) => Promise<void>,
  ): Promise<void> {
    const opened = [...this.#tasks.values()].map(async ({ opening }) => {
      // The caller that opened the task has the error.
      const session = await opening.catch(() => undefined);
      if (session) await run(session);
    });
    await Promise.all(opened);
  }

  /**
   * Waits until a task is open and holds its session. Removes the task from the
   * registry when it cannot be opened.
   */
  async #hold(
    taskId: string,
    task: OpenTask,
  ): Promise<HeldSession<TaskSession> | undefined> {
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, task);
    // Counts as a holder, so that the session is not closed before the caller
    // has it.
    task.holders++;
    try {
      const session = await task.opening;
      if (!session) this.#tasks.delete(taskId);
      return session && new HeldSession(session, task);
    } catch (reason) {
      this.#tasks.delete(taskId);
      throw reason;
    } finally {
      task.holders--;
    }
  }

  /**
   * Opens a task that the store has, and goes on with its work. Undefined when
   * there is no such task, or another server runs it.
   */
  async #load(taskId: string): Promise<TaskSession | undefined> {
    const { store, shared } = this.#options;
    // A server that has the workspace must run the task.
    if (shared && (await this.reach.of(taskId)).problem) return undefined;
    const lease = await shared?.leases.acquire(taskId);
    if (shared && !lease) return undefined;
    try {
      // Read after the lease was acquired: no other server appends any more.
      const task = await readTask(store, taskId);
      if (!task) return undefined;
      return await this.#openInConversation(task, async (conversation) => {
        // Another task of the conversation may have activated the extension, or
        // have a newer session of the agent.
        const latest = await store.findLatest(task.principal, task.contextId);
        if (task.extensionActive || latest?.extensionActive) {
          conversation.activateExtension();
        }
        conversation.agentSessionId ||=
          latest?.agentSessionId ?? task.agentSessionId;
        const session = this.#open(
          task,
          this.#options.createExecutor(task),
          conversation,
          lease,
        );
        try {
          await session.recover();
        } catch (reason) {
          await session[Symbol.asyncDispose]();
          throw reason;
        }
        this.#companion?.opened(session);
        return session;
      });
    } catch (reason) {
      // Any server may try again. If even this fails, the lease ends with this
      // server.
      await lease?.release().catch(() => undefined);
      throw reason;
    }
  }

  /**
   * Opens a task in its conversation, and leaves the conversation when that
   * fails.
   */
  async #openInConversation(
    task: Task,
    open: (conversation: Conversation) => Promise<TaskSession>,
  ): Promise<TaskSession> {
    try {
      return await open(this.#conversations.open(task));
    } catch (reason) {
      this.#conversations.close(task);
      throw reason;
    }
  }

  #forget(taskId: string, task: Task): void {
    this.#tasks.delete(taskId);
    this.#companion?.closing(taskId);
    this.#conversations.close(task);
  }

  /**
   * Closes a session that failed. Nobody waits but the server when it closes,
   * because the agent may take a while to end.
   */
  #closeLater(session: TaskSession): void {
    const closing = session
      .close()
      .catch(() => undefined)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #open(
    task: Task,
    executor: AgentExecutor,
    conversation: Conversation,
    lease: TaskLease | undefined,
  ): TaskSession {
    const { store, now, messages, shared } = this.#options;
    const log = new EventLog({
      store,
      task,
      conversation,
      now,
      lease,
      feed: this.feed,
    });
    return new TaskSession({
      log,
      executor,
      lease,
      messages,
      sessions: shared?.sessions,
      earlier: (current) => conversation.earlier.of(store, current),
    });
  }

  async #closeIdle(): Promise<void> {
    for (const [taskId, task] of this.#tasks) {
      if (this.#tasks.size <= MAX_IDLE_SESSIONS) return;
      if (task.holders > 0 || this.#companion?.isBusy(taskId)) continue;
      const session = await task.opening.catch(() => undefined);
      // Meanwhile the task may have got a holder, or been closed.
      if (
        !session?.idle ||
        task.holders > 0 ||
        this.#tasks.get(taskId) !== task
      ) {
        continue;
      }
      this.#forget(taskId, session.task);
      await session.close();
    }
  }
}
