import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  ApprovalMode,
  type Task,
  type TaskCreated,
  TaskSchema,
} from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import type { GoalChecks } from "../agent/goal-checks.ts";
import type { DevtoolError } from "../errors.ts";
import type { Operations } from "../operations.ts";
import type { TaskLease } from "../store/task-lease.ts";
import type { SharedTasks, TaskStore } from "../store/task-store.ts";
import { type Conversation, OpenConversations } from "../task/conversation.ts";
import { EventLog } from "../task/event-log.ts";
import { keptLimit } from "../task/kept-limit.ts";
import { OpenTask } from "../task/open-task.ts";
import { readHead } from "../task/read-task.ts";
import type { RecordedMessages } from "../task/recorded-messages.ts";
import { SharedTick } from "../task/shared-tick.ts";
import type { StoreFaults } from "../task/store-faults.ts";
import type { TaskFeed } from "../task/task-feed.ts";
import type { HistoryNeed, TaskHead } from "../task/task-head.ts";
import { TaskOperations } from "../task/task-operations.ts";
import type { TurnRunnerOptions } from "../task/turn-runner.ts";
import type { WorkspaceReach } from "./workspace-reach.ts";

/** Dependencies of `TaskOpener`. */
export interface TaskOpenerOptions
  extends Pick<TurnRunnerOptions, "modelNameOf" | "onError" | "budgets"> {
  readonly store: TaskStore;
  /** Creates the executor for a task, by its settings and command. */
  readonly createExecutor: (task: Task) => AgentExecutor;
  /** Returns what runs the checks of a task's goals. Default: nothing does. */
  readonly checksOf?: ((task: Task) => GoalChecks | undefined) | undefined;
  /** Tells the operator that the store refuses. Default: nobody does. */
  readonly faults?: StoreFaults | undefined;
  /** What the server's observer hears. Default: there is none. */
  readonly operations?: Operations | undefined;
  readonly now: () => Date;
  /**
   * Returns the operator's approval mode for an agent; unspecified for one that
   * has no such modes. Default: none has.
   */
  readonly operatorMode?: (agent: string) => ApprovalMode;
  /**
   * The leases and the changes of a store that other servers use as well.
   * Default: none do.
   */
  readonly shared?: SharedTasks | undefined;
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
 * Opens tasks: under a lease where other servers use the store,
 * and in the conversation that the task shares with others. Each task may be
 * opened once at a time.
 */
export class TaskOpener {
  readonly #options: TaskOpenerOptions;
  readonly #reach: WorkspaceReach;
  readonly #feed: TaskFeed;
  readonly #conversations = new OpenConversations();
  readonly #tick: SharedTick | undefined;

  constructor(
    options: TaskOpenerOptions,
    reach: WorkspaceReach,
    feed: TaskFeed,
  ) {
    this.#options = options;
    this.#reach = reach;
    this.#feed = feed;
    this.#tick = options.shared && new SharedTick();
  }

  /**
   * Creates a task and starts its agent. Resolves when the task is durable.
   *
   * @param discard closes the task when it could not be created
   */
  async create(
    taskId: string,
    place: TaskPlace,
    created: TaskCreated,
    discard: (openTask: OpenTask) => void,
  ): Promise<OpenTask> {
    const { contextId, extensionActive, agentSessionId, approvalMode } = place;
    const { message, settings, sessionSettings, command, principal } = created;
    const { approvalLimit } = created;
    const unreachable = this.#reach.problemOf(settings?.workspacePath ?? "");
    if (unreachable) throw unreachable;
    const blank = create(TaskSchema, { id: taskId, contextId });
    const history = message ? [message] : [];
    const described: Task = {
      ...blank,
      principal,
      history,
      settings,
      sessionSettings,
      approvalLimit,
      command,
      ...defined({ sender: message?.sender ?? created.sender }),
    };
    const executor = this.#options.createExecutor(described);
    const replyOnly = executor.answersWith?.(described) === "message";
    return this.#openInConversation(described, async (conversation) => {
      if (extensionActive) conversation.activateExtension();
      conversation.agentSessionId ||= agentSessionId;
      const lease = await this.#options.shared?.leases.create(taskId);
      const opened = this.#open({ task: blank }, executor, conversation, lease);
      try {
        await opened.create({ ...created, replyOnly }, approvalMode);
      } catch (reason) {
        discard(opened);
        throw reason;
      }
      return opened;
    });
  }

  /**
   * Opens a task that the store has, and goes on with its work. Undefined when
   * there is no such task, or another server runs it.
   *
   * @param refusal why the store refused the task when it was open before
   */
  async load(
    taskId: string,
    refusal: DevtoolError | undefined,
  ): Promise<OpenTask | undefined> {
    const { store, shared } = this.#options;
    // A server that has the workspace must run the task.
    if (shared && (await this.#reach.of(taskId)).problem) return undefined;
    const lease = await shared?.leases.acquire(taskId);
    if (shared && !lease) return undefined;
    try {
      // Read after the lease was acquired: no other server appends any more.
      const recorded = await readHead(store, taskId, "none");
      if (!recorded) return undefined;
      const { approvalLimit, sessionSettings } = recorded.task;
      const mode =
        this.#options.operatorMode?.(sessionSettings?.agent ?? "") ??
        ApprovalMode.UNSPECIFIED;
      const limit = { approvalLimit: keptLimit(approvalLimit, mode) };
      const executor = this.#options.createExecutor({
        ...recorded.task,
        ...limit,
      });
      const task = { ...recorded.task, ...limit };
      return await this.#openInConversation(task, async (conversation) => {
        // Another task of the conversation may have activated the extension, or
        // have a newer session of the agent.
        const latest = await store.findLatest(task.principal, task.contextId);
        if (task.extensionActive || latest?.extensionActive) {
          conversation.activateExtension();
        }
        conversation.agentSessionId ||=
          latest?.agentSessionId ?? task.agentSessionId;
        const openTask = this.#open(
          { task, head: recorded },
          executor,
          conversation,
          lease,
        );
        try {
          await openTask.recover(refusal);
        } catch (reason) {
          await openTask[Symbol.asyncDispose]();
          throw reason;
        }
        openTask.log.storeHead();
        return openTask;
      });
    } catch (reason) {
      // Any server may try again. If even this fails, the lease ends with this
      // server.
      await lease?.release().catch(() => undefined);
      throw reason;
    }
  }

  /** Has the open conversations forget what was said in a deleted task. */
  noteDeleted(taskId: string): void {
    this.#conversations.noteDeleted(taskId);
  }

  /** Leaves the conversation of a task that is closed. */
  leave(task: Task): void {
    this.#conversations.close(task);
  }

  /**
   * Opens a task in its conversation, and leaves the conversation when that
   * fails.
   */
  async #openInConversation(
    task: Task,
    open: (conversation: Conversation) => Promise<OpenTask>,
  ): Promise<OpenTask> {
    try {
      return await open(this.#conversations.open(task));
    } catch (reason) {
      this.#conversations.close(task);
      throw reason;
    }
  }

  #open(
    known: { readonly task: Task; readonly head?: TaskHead },
    executor: AgentExecutor,
    conversation: Conversation,
    lease: TaskLease | undefined,
  ): OpenTask {
    const { store, now, messages, shared, faults } = this.#options;
    const { modelNameOf, onError, budgets } = this.#options;
    const operations =
      this.#options.operations &&
      new TaskOperations(this.#options.operations, (usage, model) =>
        budgets?.costOf(usage, model),
      );
    const log = new EventLog({
      ...known,
      need: neededBy(executor),
      store,
      conversation,
      now,
      lease,
      feed: this.#feed,
      operations,
      faults,
    });
    return new OpenTask({
      log,
      executor,
      lease,
      messages,
      sessions: shared?.sessions,
      budgets,
      checks: this.#options.checksOf?.(known.task),
      tick: this.#tick,
      operations,
      modelNameOf,
      onError,
      earlier: (current) =>
        conversation.earlier.of(store, current, neededBy(executor)),
    });
  }
}

/** What an executor reads of its task's history. */
function neededBy({ keepsSession }: AgentExecutor): HistoryNeed {
  return keepsSession === true ? "none" : "for-model";
}
