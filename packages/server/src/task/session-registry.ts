import { create } from "@bufbuild/protobuf";
import { type Task, type TaskCreated, TaskSchema, TaskState } from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { Code, DevtoolError } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import { type Conversation, OpenConversations } from "./conversation.ts";
import { EventLog } from "./event-log.ts";
import { HeldSession, type OpenTask } from "./held-session.ts";
import { readTask } from "./read-task.ts";
import { stopping, TaskSession } from "./task-session.ts";

/** The maximum number of idle tasks that stay open in memory; the least recently used are closed first. */
const MAX_IDLE_SESSIONS = 256;

/** What a registry needs. */
export interface SessionRegistryOptions {
  readonly store: TaskStore;
  /** Makes the agent for a task, by its settings and command. */
  readonly createExecutor: (task: Task) => AgentExecutor;
  readonly now: () => Date;
}

/** Where a task begins. */
export interface TaskPlace {
  readonly contextId: string;
  /** Whether the extension is active in the conversation, by its log or by the request that begins the task. */
  readonly extensionActive: boolean;
}

/** The tasks that are open in this process: each at most once, so that each log has one writer. */
export class SessionRegistry implements AsyncDisposable {
  readonly #options: SessionRegistryOptions;
  /** In the order of their last use. */
  readonly #tasks = new Map<string, OpenTask>();
  readonly #conversations = new OpenConversations();
  #isStopping = false;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
  }

  /** Creates a task and sets its agent to work. Resolves when the task is durable. */
  async create(taskId: string, { contextId, extensionActive }: TaskPlace, created: TaskCreated): Promise<HeldSession> {
    this.#assertTaking();
    const { message, settings, sessionSettings, command, principal } = created;
    const blank = create(TaskSchema, { id: taskId, contextId });
    const described: Task = {
      ...blank,
      principal,
      history: message ? [message] : [],
      ...(settings && { settings }),
      ...(sessionSettings && { sessionSettings }),
      ...(command && { command }),
    };
    const executor = this.#options.createExecutor(described);
    const replyOnly = executor.answersWith?.(described) === "message";
    const session = this.#conversing(described, async (conversation) => {
      if (extensionActive) conversation.activateExtension();
      const opened = this.#open(blank, executor, conversation);
      await opened.create({ ...created, replyOnly });
      return opened;
    });
    using held = await this.#hold(taskId, { opening: session, holders: 0 });
    await this.#closeIdle();
    if (!held) throw new DevtoolError(`task ${JSON.stringify(taskId)} was not created`, Code.Internal);
    return held.hold();
  }

  /** Gets the session of a task, opening it when it is not; undefined when the store has no such task. */
  async get(taskId: string): Promise<HeldSession | undefined> {
    const open = this.#tasks.get(taskId);
    if (!open) this.#assertTaking();
    const task = open ?? { opening: this.#load(taskId), holders: 0 };
    using held = await this.#hold(taskId, task);
    if (held?.session.log.failure) {
      if (this.#tasks.get(taskId) === task) this.#forget(taskId, held.session.task);
      return this.get(taskId);
    }
    await this.#closeIdle();
    return held?.hold();
  }

  /** Opens every task that a stop of the server cut, so that each can go on. To be called before the first client. */
  async recover(): Promise<void> {
    for (const state of [TaskState.SUBMITTED, TaskState.WORKING]) {
      for (const taskId of await this.#tasksIn(state)) {
        using _opened = await this.get(taskId);
      }
    }
  }

  /**
   * Stops all agents, and opens no more tasks; each is left as after a restart. The tasks that are open can still be read,
   * and take no message.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#eachSession((session) => session.stop());
  }

  /** Stops all agents and closes all tasks. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#eachSession((session) => session[Symbol.asyncDispose]());
    this.#tasks.clear();
  }

  async #eachSession(run: (session: TaskSession) => Promise<void>): Promise<void> {
    const opened = [...this.#tasks.values()].map(async ({ opening }) => {
      // Who opened a task is told what failed.
      const session = await opening.catch(() => undefined);
      if (session) await run(session);
    });
    await Promise.all(opened);
  }

  #assertTaking(): void {
    if (this.#isStopping) throw stopping();
  }

  /** Waits for the session of a task, which is the latest in use; forgets the task when it could not be opened. */
  async #hold(taskId: string, task: OpenTask): Promise<HeldSession | undefined> {
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, task);
    // Held from here on: nobody closes it before the caller has it.
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

  async #load(taskId: string): Promise<TaskSession | undefined> {
    const task = await readTask(this.#options.store, taskId);
    if (!task) return undefined;
    return this.#conversing(task, async (conversation) => {
      if (task.extensionActive || (await this.#isExtensionActive(task))) conversation.activateExtension();
      const session = this.#open(task, this.#options.createExecutor(task), conversation);
      await session.recover();
      return session;
    });
  }

  /** Opens a task in its conversation, which it leaves when it cannot be opened. */
  async #conversing(task: Task, open: (conversation: Conversation) => Promise<TaskSession>): Promise<TaskSession> {
    try {
      return await open(this.#conversations.open(task));
    } catch (reason) {
      this.#conversations.close(task);
      throw reason;
    }
  }

  #forget(taskId: string, task: Task): void {
    this.#tasks.delete(taskId);
    this.#conversations.close(task);
  }

  /** Another task of the conversation may have made the extension active: then its latest event says so. */
  async #isExtensionActive({ contextId, principal }: Task): Promise<boolean> {
    const latest = await this.#options.store.findLatest(principal, contextId);
    return latest?.extensionActive ?? false;
  }

  #open(task: Task, executor: AgentExecutor, conversation: Conversation): TaskSession {
    const { store, now } = this.#options;
    const log = new EventLog({ store, task, conversation, now });
    return new TaskSession({ log, executor, earlier: (current) => conversation.earlier.of(store, current) });
  }

  async #tasksIn(state: TaskState): Promise<string[]> {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#options.store.list({ state, limit: 100, ...(cursor !== undefined && { cursor }) });
      ids.push(...page.tasks.map(({ taskId }) => taskId));
      cursor = page.cursor;
    } while (cursor !== undefined);
    return ids;
  }

  async #closeIdle(): Promise<void> {
    for (const [taskId, task] of this.#tasks) {
      if (this.#tasks.size <= MAX_IDLE_SESSIONS) return;
      if (task.holders > 0) continue;
      const session = await task.opening.catch(() => undefined);
      // Others may have taken hold of it meanwhile, or closed it.
      if (!session?.idle || task.holders > 0 || this.#tasks.get(taskId) !== task) continue;
      this.#forget(taskId, session.task);
      await session[Symbol.asyncDispose]();
    }
  }
}
