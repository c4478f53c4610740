import { create } from "@bufbuild/protobuf";
import { type Task, type TaskCreated, TaskSchema, TaskState } from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import type { TaskStore } from "../store/task-store.ts";
import { earlierConversation } from "./earlier-conversation.ts";
import { EventLog } from "./event-log.ts";
import { readTask } from "./read-task.ts";
import { TaskSession } from "./task-session.ts";

/** So many tasks stay open in memory when nobody needs them; the longest unused are closed first. */
const MAX_IDLE_SESSIONS = 256;

/** What a registry needs. */
export interface SessionRegistryOptions {
  readonly store: TaskStore;
  /** Makes the agent for a task, by its settings and command. */
  readonly createExecutor: (task: Task) => AgentExecutor;
  readonly now: () => Date;
}

/** The tasks that are open in this process: each at most once, so that each log has one writer. */
export class SessionRegistry implements AsyncDisposable {
  readonly #options: SessionRegistryOptions;
  readonly #sessions = new Map<string, Promise<TaskSession | undefined>>();

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
  }

  /** Creates a task and sets its agent to work. Resolves when the task is durable. */
  async create(taskId: string, contextId: string, created: TaskCreated): Promise<TaskSession> {
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
    const session = this.#open(blank, executor);
    const replyOnly = executor.answersWith?.(described) === "message";
    const opening = session.create({ ...created, replyOnly }).then(() => session);
    this.#sessions.set(taskId, opening);
    const opened = await this.#opened(taskId, opening);
    await this.#closeIdle();
    return opened;
  }

  /** Gets the session of a task, opening it when it is not; undefined when the store has no such task. */
  async get(taskId: string): Promise<TaskSession | undefined> {
    const opening = this.#sessions.get(taskId) ?? this.#load(taskId);
    // Set anew, so that the order of the map is the order of use.
    this.#sessions.delete(taskId);
    this.#sessions.set(taskId, opening);
    const session = await this.#opened(taskId, opening);
    if (session?.log.failure) {
      if (this.#sessions.get(taskId) === opening) this.#sessions.delete(taskId);
      return this.get(taskId);
    }
    await this.#closeIdle();
    return session;
  }

  /** Opens every task that a stop of the server cut, so that each can go on. To be called before the first client. */
  async recover(): Promise<void> {
    for (const state of [TaskState.SUBMITTED, TaskState.WORKING]) {
      for (const taskId of await this.#tasksIn(state)) await this.get(taskId);
    }
  }

  /** Stops all agents; each task is left as after a restart. */
  async [Symbol.asyncDispose](): Promise<void> {
    const sessions = await Promise.all(this.#sessions.values());
    this.#sessions.clear();
    await Promise.all(sessions.map((session) => session?.[Symbol.asyncDispose]()));
  }

  /** Waits for a session; forgets it when it could not be opened. */
  async #opened<T extends TaskSession | undefined>(taskId: string, opening: Promise<T>): Promise<T> {
    const session = await opening.catch((reason: unknown) => {
      this.#sessions.delete(taskId);
      throw reason;
    });
    if (!session) this.#sessions.delete(taskId);
    return session;
  }

  async #load(taskId: string): Promise<TaskSession | undefined> {
    const task = await readTask(this.#options.store, taskId);
    if (!task) return undefined;
    const session = this.#open(task, this.#options.createExecutor(task));
    await session.recover();
    return session;
  }

  #open(task: Task, executor: AgentExecutor): TaskSession {
    const { store, now } = this.#options;
    const log = new EventLog({ store, task, now });
    return new TaskSession({ log, executor, earlier: (current) => earlierConversation(store, current) });
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
    for (const [taskId, opening] of this.#sessions) {
      if (this.#sessions.size <= MAX_IDLE_SESSIONS) return;
      const session = await opening;
      if (!session?.idle) continue;
      this.#sessions.delete(taskId);
      await session[Symbol.asyncDispose]();
    }
  }
}
