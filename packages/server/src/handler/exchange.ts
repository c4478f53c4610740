import { create } from "@bufbuild/protobuf";
import { shorten } from "@devtool/internal/cut-text";
import { defined } from "@devtool/internal/json";
import { KeyedQueue } from "@devtool/internal/keyed-queue";
import {
  confirmationsOf,
  type ExecuteSlashCommandRequest,
  type McpServer,
  type Message,
  MessageDelivery,
  type Replay,
  ReplaySchema,
  type SendMessageRequest,
  SessionSettingsSchema,
  type Task,
  type TaskCreated,
  TaskCreatedSchema,
  TaskState,
  type TraceContext,
} from "@devtool/schema";
import type { ConversationKey } from "../agent/agent.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import { beginInWorkspace } from "../files/workspace-roots.ts";
import type { OpenTasks } from "../fleet/open-tasks.ts";
import type { TaskChanges } from "../store/task-changes.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { RecordedMessages } from "../task/recorded-messages.ts";
import type { TaskFeed } from "../task/task-feed.ts";
import type { HeldTask } from "../task/task-handle.ts";
import { assertNoBrokenAnswers, findAsking } from "./asking-task.ts";
import { assertMayUse, type SendingCaller } from "./caller.ts";
import { assertBegun, resolveFork } from "./conversation-fork.ts";
import { assertKept } from "./kept-settings.ts";
import { assertKnownValue, assertLabel, assertName } from "./name-limit.ts";
import { isRetry } from "./retry.ts";
import {
  approvalLimitOf,
  assertSameSettings,
  commandSettings,
  findSession,
  resolveSettings,
  type Session,
  type SessionOptions,
  type Settings,
  sessionChanges,
} from "./session-settings.ts";
import { assertGoal, assertMayResume, assertTurn } from "./turn-settings.ts";
import { validMessage } from "./valid-message.ts";

/**
 * The part of a task's log that a message starts. It begins after a sequence,
 * and ends with the first event for which `endsExchange` is true.
 */
export interface Exchange {
  /**
   * The open task. Whoever receives the exchange must dispose of it.
   */
  readonly held: HeldTask;
  /** The sequence before the event that records the message. */
  readonly after: bigint;
  /** Set for a retry of a message, which started nothing. */
  readonly replay?: Replay | undefined;
}

/** Dependencies of `Exchanges`. */
export interface ExchangeOptions extends SessionOptions {
  readonly registry: OpenTasks;
  readonly store: TaskStore;
  /** The messages of which others are retries. */
  readonly messages: RecordedMessages;
  readonly nextId: () => string;
  /** The maximum number of parts of a message. */
  readonly maxParts: number;
}

/** The conversation of a new task, as its request names it. */
export interface TaskOrigin {
  /** The id of the task. Default: a random one. */
  readonly taskId?: string;
  /** The conversation; empty for a new one. */
  readonly contextId: string;
  readonly settings: Settings;
  /** Whether the request activates the development-tool extension. */
  readonly activateExtension: boolean;
}

/**
 * Starts exchanges: validates messages once for all transports, and recognizes
 * retries (STREAM-7).
 */
export class Exchanges {
  /** The changes of the open tasks. */
  readonly feed: TaskFeed;
  /** The changes that other servers make; undefined when none use the store. */
  readonly changes: TaskChanges | undefined;
  /** The name of the agent of clients that choose none. */
  readonly defaultAgent: string;
  /** The workspace of clients that name none; empty when there is none. */
  readonly defaultWorkspace: string;
  readonly #options: ExchangeOptions;
  /** Starts the exchanges of each principal and message id. */
  readonly #starting = new KeyedQueue();

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.feed = options.registry.feed;
    this.changes = options.registry.changes;
    this.defaultAgent = options.agents.resolve("");
    this.defaultWorkspace = options.workspace ?? "";
  }

  /**
   * Starts the exchange of a message, or finds the exchange that an earlier
   * copy of the message started.
   *
   * Throws a `DevtoolError` when the message is invalid, when its task cannot
   * take it, or when its id was used for another message.
   *
   * @param newTaskId the id of the task if the message creates one; empty for a
   * random one
   */
  async begin(
    request: SendMessageRequest,
    caller: SendingCaller,
    newTaskId = "",
  ): Promise<Exchange> {
    const { principal, sender } = caller;
    const message = validMessage(request, this.#options.maxParts, sender);
    const { clientLabel = "", delivery = MessageDelivery.UNSPECIFIED } =
      request.messageSettings ?? {};
    assertLabel("message_settings.client_label", clientLabel);
    assertKnownValue("message_settings.delivery", delivery, MessageDelivery);
    const key = JSON.stringify([principal, message.messageId]);
    return this.#starting.run(key, async () => {
      const retry = await this.#findRetry(request, message, principal);
      if (retry) return retry;
      try {
        return await this.#start(request, message, caller, newTaskId);
      } catch (reason) {
        // Another server may have recorded a copy of the message meanwhile, and
        // this one was refused for that.
        const copy =
          this.#options.messages.isShared &&
          (await this.#findRetry(request, message, principal));
        if (copy) return copy;
        throw reason;
      }
    });
  }

  /** Creates a task for a slash command. */
  async beginCommand(
    command: ExecuteSlashCommandRequest,
    origin: TaskOrigin,
    caller: SendingCaller,
    traceContext: TraceContext | undefined,
  ): Promise<Exchange> {
    const { sender } = caller;
    const opening = defined({ command, sender, traceContext });
    return this.#create(opening, origin, caller);
  }

  /**
   * Returns the settings that a new task of a context would have. Throws when
   * they are not permitted.
   */
  async settingsFor(
    { contextId, settings }: Pick<TaskOrigin, "contextId" | "settings">,
    caller: SendingCaller,
  ): Promise<Settings> {
    const { principal } = caller;
    const session = await this.#findSession(contextId, principal);
    const resolved = resolveSettings(
      settings,
      session?.settings,
      { contextId, principal },
      this.#options,
    );
    assertMayUse(resolved.sessionSettings?.agent ?? "", caller);
    return resolved;
  }

  /**
   * Throws for settings that a request without a message asks for and its task
   * does not have.
   */
  async assertKept(
    taskId: string,
    requested: Settings,
    principal: string,
  ): Promise<void> {
    using held = await this.find(taskId, principal);
    assertKept(requested, held.handle.task, this.#options);
  }

  /**
   * Opens a task. Throws `Code.NotFound` when the principal has
   * no such task.
   */
  async find(taskId: string, principal: string): Promise<HeldTask> {
    using held =
      taskId === "" ? undefined : await this.#options.registry.get(taskId);
    if (held?.handle.task.principal === principal) return held.hold();
    throw new DevtoolError(
      `task ${quoted(taskId)} does not exist`,
      Code.NotFound,
      {
        details: { field: "task_id", value: shorten(taskId) },
        remedy: "see the list of tasks",
      },
    );
  }

  /**
   * Deletes a task of the principal that has ended, or any such task for the
   * operator. Throws as `find` does for tasks that the caller may not delete.
   */
  async delete(
    taskId: string,
    principal: string,
    clientLabel: string,
    reach: "own" | "all",
  ): Promise<void> {
    const { registry } = this.#options;
    using foreign = reach === "all" ? await registry.get(taskId) : undefined;
    using held = foreign?.hold() ?? (await this.find(taskId, principal));
    const { task } = held.handle;
    if (reach === "own") await registry.assertDeletable(task);
    await registry.delete(task, { principal, clientLabel });
  }

  /**
   * Returns the task to which a message goes that names a context and no task:
   * the one that has recorded it, or else the only task of the context that
   * waits for its user. Empty for a new task.
   */
  async recipientOf(
    { messageId, contextId }: { messageId: string; contextId: string },
    principal: string,
  ): Promise<string> {
    const { store, messages } = this.#options;
    const recorded = await messages.find(principal, messageId);
    if (recorded?.payload.case) {
      return recorded.payload.case === "created" ? "" : recorded.taskId;
    }
    const pages = await Promise.all(
      [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED].map((state) =>
        store.list({ principal, contextId, state, limit: 2 }),
      ),
    );
    const [only, ...others] = pages.flatMap(({ tasks }) => tasks);
    if (!only || others.length > 0) return "";
    const { taskId } = only.last;
    // The task of a slash command takes no messages.
    const { command } = await this.taskOf(taskId, principal);
    return command ? "" : taskId;
  }

  /**
   * Returns a task as it is now. Throws `Code.NotFound` when the principal has
   * no such task.
   */
  async taskOf(taskId: string, principal: string): Promise<Task> {
    using held = await this.find(taskId, principal);
    return held.handle.task;
  }

  /** Throws for a caller who may not have a task go on with its goal. */
  assertMayResume(task: Task, caller: SendingCaller): void {
    assertMayResume(task, caller, this.#options);
  }

  /**
   * Sends a new message to its task, or creates a task for it. An answer never
   * creates a task (TOOL-5).
   */
  async #start(
    request: SendMessageRequest,
    message: Message,
    caller: SendingCaller,
    newTaskId: string,
  ): Promise<Exchange> {
    const { principal } = caller;
    const { taskId, contextId, activateExtension, messageSettings } = request;
    const answers = confirmationsOf(message);
    if (taskId === "" && answers.length === 0) {
      const origin = {
        taskId: newTaskId,
        contextId,
        settings: request,
        activateExtension,
      };
      return this.#create({ message }, origin, caller);
    }
    using held =
      taskId === ""
        ? await findAsking(this.#options, answers, { contextId, principal })
        : await this.find(taskId, principal);
    const { handle } = held;
    assertMayUse(handle.task.sessionSettings?.agent ?? "", caller);
    await this.#assertCapable(request, handle.task, handle.task);
    const mcpServers = addedByMessage(
      request,
      message,
      handle.task,
      this.#options,
    );
    assertGoal(message, handle.task, caller, this.#options);
    const { delivery, clientLabel } = messageSettings ?? {};
    // A message that waits may follow others that change the mode, so the
    // present one is kept with it, too.
    const { approvalMode } = request.sessionSettings ?? {};
    const sequence = await handle.accept({
      message: { ...message, mcpServers },
      activateExtension,
      delivery,
      clientLabel,
      approvalMode,
    });
    return { held: held.hold(), after: sequence - 1n };
  }

  async #create(
    opening: Partial<TaskCreated>,
    origin: TaskOrigin,
    caller: SendingCaller,
  ): Promise<Exchange> {
    const { principal } = caller;
    const { registry, nextId } = this.#options;
    const { session, message } = await this.#sessionOf(
      opening,
      origin,
      principal,
    );
    const conversation = { contextId: origin.contextId, principal };
    const resolved = resolveSettings(
      origin.settings,
      session?.settings,
      conversation,
      this.#options,
    );
    assertMayUse(resolved.sessionSettings?.agent ?? "", caller);
    if (!session) beginInWorkspace(resolved.settings?.workspacePath ?? "");
    await this.#assertCapable(origin.settings, resolved, conversation);
    const { command, sender, traceContext } = opening;
    if (message) {
      assertTurn(message, resolved, conversation, this.#options);
      assertGoal(message, resolved, caller, this.#options);
    }
    const own =
      session && command
        ? commandSettings(resolved, origin.settings)
        : resolved;
    const approvalLimit = approvalLimitOf(own, session, this.#options);
    const created = create(
      TaskCreatedSchema,
      defined({
        ...{ principal, message, command, sender, traceContext, approvalLimit },
        ...own,
      }),
    );
    const place = {
      contextId: origin.contextId || nextId(),
      extensionActive:
        origin.activateExtension || session?.extensionActive === true,
      agentSessionId: session?.agentSessionId ?? "",
      approvalMode:
        session &&
        sessionChanges(
          origin.settings,
          session.settings,
          conversation,
          this.#options,
        ).approvalMode,
    };
    return {
      held: await registry.create(origin.taskId || nextId(), place, created),
      after: 0n,
    };
  }

  /**
   * Rejects for requested settings that the agent of their session cannot
   * follow when it runs.
   */
  async #assertCapable(
    { sessionSettings: requested }: Settings,
    { settings, sessionSettings }: Settings,
    { principal, contextId }: ConversationKey,
  ): Promise<void> {
    if (!requested) return;
    const { agent = "" } = sessionSettings ?? {};
    const { workspacePath = "" } = settings ?? {};
    await this.#options.agents.assertCapable(
      { ...requested, agent },
      { principal, contextId, workspacePath },
    );
  }

  /**
   * Returns the session that a new task has, and its message as it is recorded.
   * A fork has the session of the conversation that it goes on with.
   */
  async #sessionOf(
    { message }: Partial<TaskCreated>,
    { contextId }: TaskOrigin,
    principal: string,
  ): Promise<{
    readonly session: Session | undefined;
    readonly message: Message | undefined;
  }> {
    const session = await this.#findSession(contextId, principal);
    if (!message?.fork) {
      if (session) assertBegun(session, contextId);
      return { session, message };
    }
    if (session) {
      const problem = "has a conversation, and a fork begins another one";
      throw invalid("context_id", contextId, problem, "leave it out");
    }
    const { store } = this.#options;
    const forked = await resolveFork(store, message.fork, principal);
    const { fork } = forked;
    return { session: forked.session, message: { ...message, fork } };
  }

  async #findSession(
    contextId: string,
    principal: string,
  ): Promise<Session | undefined> {
    assertName("context_id", contextId);
    return contextId === ""
      ? undefined
      : findSession(this.#options.store, contextId, principal);
  }

  /**
   * Finds the exchange of an equal message under the same id; throws
   * `Code.AlreadyExists` for a different one.
   */
  async #findRetry(
    request: SendMessageRequest,
    message: Message,
    principal: string,
  ): Promise<Exchange | undefined> {
    const { registry, messages } = this.#options;
    const { messageId } = message;
    const event = await messages.find(principal, messageId);
    if (!event?.time) return undefined;
    if (event.payload.case === undefined) {
      throw new DevtoolError(
        `message.message_id ${quoted(messageId)} was used in task ${quoted(event.taskId)}, which was deleted`,
        Code.AlreadyExists,
        {
          remedy: "choose an id that is new for each message",
          details: { field: "message.message_id", value: shorten(messageId) },
        },
      );
    }
    if (!isRetry(event, request.taskId, message)) {
      throw new DevtoolError(
        `message.message_id ${quoted(messageId)} was used for another message`,
        Code.AlreadyExists,
        {
          remedy: "choose an id that is new for each message",
          details: { field: "message.message_id", value: shorten(messageId) },
        },
      );
    }
    using held = await registry.get(event.taskId);
    if (!held) return undefined;
    assertSameSettings(request, event, held.handle.task, this.#options);
    if (request.activateExtension) await held.handle.activateExtension();
    const replay = create(ReplaySchema, { messageId, firstTime: event.time });
    return { held: held.hold(), after: event.sequence - 1n, replay };
  }
}

/**
 * Returns the MCP servers that a message adds to the session of its task
 * (SESSION-4). Throws a `DevtoolError` for a message that the task cannot take:
 * because of its context, its settings, or an answer that is not valid.
 */
function addedByMessage(
  request: SendMessageRequest,
  message: Message,
  task: Task,
  options: SessionOptions,
): McpServer[] {
  const { taskId, contextId } = request;
  if (contextId !== "" && contextId !== task.contextId) {
    throw invalid(
      "context_id",
      contextId,
      `is not the context of task ${quoted(taskId)}`,
      "send its own, or none",
    );
  }
  let added: McpServer[] = [];
  if (confirmationsOf(message).length > 0) {
    const asked = request.sessionSettings ?? create(SessionSettingsSchema);
    const sessionSettings = { ...asked, model: message.model };
    assertKept({ ...request, sessionSettings }, task, options);
  } else {
    added = sessionChanges(request, task, task, options).added;
  }
  assertNoBrokenAnswers(message, task);
  assertTurn(message, task, task, options);
  return added;
}
