import { create, equals } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  confirmationsOf,
  type Message,
  MessageSchema,
  type Replay,
  ReplaySchema,
  Role,
  type SendMessageRequest,
  shorten,
  type TaskCreated,
  TaskCreatedSchema,
  type TaskEvent,
} from "@devtool/schema";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { HeldSession } from "../task/held-session.ts";
import type { SessionRegistry } from "../task/session-registry.ts";
import { assertNoBrokenAnswers, findAsking } from "./asking-task.ts";
import { assertName, assertNames } from "./name-limit.ts";
import {
  assertUnchanged,
  findSession,
  type Session,
  type SessionOptions,
  type Settings,
  settleSettings,
} from "./session-settings.ts";
import { keptMessage } from "./shown-settings.ts";

/** What a message set off: a piece of a task's log that begins after a sequence. */
export interface Exchange {
  /** The session of the task; whoever has the exchange lets go of it in the end. */
  readonly held: HeldSession;
  /** The sequence before the event that records the message. */
  readonly after: bigint;
  /** Set when the message came before, so that nothing was started. */
  readonly replay?: Replay;
}

/** What exchanges need. */
export interface ExchangeOptions extends SessionOptions {
  readonly registry: SessionRegistry;
  readonly store: TaskStore;
  readonly now: () => Date;
  readonly nextId: () => string;
  /** How long the same message under the same id is a retry, in milliseconds; 0 for never. */
  readonly retryWindowMs: number;
  /** The maximum number of parts of a message. */
  readonly maxParts: number;
}

/** Where a new task belongs, and what its request says of the conversation. */
export interface TaskOrigin {
  /** The conversation; empty for a new one. */
  readonly contextId: string;
  readonly settings: Settings;
  /** Whether the client shows that it knows the development-tool extension. */
  readonly activateExtension: boolean;
}

/** Starts exchanges: checks a message once for every transport, and tells a retry from a new one (STREAM-7). */
export class Exchanges {
  readonly #options: ExchangeOptions;
  /** What begins under each principal and message id: the next message of that id waits for it. */
  readonly #starting = new Map<string, Promise<Exchange>>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Starts the exchange of a message, or finds the one that its first sending started. Throws when its id was used for another one. */
  async begin(request: SendMessageRequest, principal: string): Promise<Exchange> {
    const message = checkedMessage(request.message, this.#options.maxParts);
    const key = JSON.stringify([principal, message.messageId]);
    const earlier = this.#starting.get(key)?.catch(() => undefined) ?? Promise.resolve();
    const starting = earlier.then(() => this.#findOrStart(request, message, principal));
    this.#starting.set(key, starting);
    return starting.finally(() => {
      if (this.#starting.get(key) === starting) this.#starting.delete(key);
    });
  }

  async #findOrStart(request: SendMessageRequest, message: Message, principal: string): Promise<Exchange> {
    const known = await this.#findRetry(request, message, principal);
    return known ?? this.#start(request, message, principal);
  }

  /** Opens a task for a slash command. */
  async beginCommand(created: Pick<TaskCreated, "command">, where: TaskOrigin, principal: string): Promise<Exchange> {
    return this.#create(created, where, principal);
  }

  /** The settings that a task of a context would have. Throws when there can be none. */
  async settingsFor(
    { contextId, settings }: { readonly contextId: string; readonly settings: Settings },
    principal: string,
  ): Promise<Settings> {
    const session = await this.#sessionOf(contextId, principal);
    return settleSettings(settings, session?.settings, this.#options);
  }

  /** The directory of clients that name none; empty when there is none. */
  get defaultWorkspace(): string {
    return this.#options.workspace ?? "";
  }

  /** Gets the session of a task that the principal may see; a foreign task is a missing task. */
  async find(taskId: string, principal: string): Promise<HeldSession> {
    using held = taskId === "" ? undefined : await this.#options.registry.get(taskId);
    if (held?.session.task.principal === principal) return held.hold();
    throw new DevtoolError(`task ${quoted(taskId)} does not exist`, Code.NotFound, {
      details: { field: "task_id", value: shorten(taskId) },
    });
  }

  async #start(request: SendMessageRequest, message: Message, principal: string): Promise<Exchange> {
    using held = await this.#sessionFor(request, message, principal);
    if (!held) return this.#create({ message }, { ...request, settings: request }, principal);
    const { session } = held;
    if (request.contextId !== "" && request.contextId !== session.task.contextId) {
      const problem = `is not the context of task ${quoted(request.taskId)}`;
      throw invalid("context_id", request.contextId, problem, "send its own, or none");
    }
    assertUnchanged(request, session.task, this.#options);
    assertNoBrokenAnswers(message, session.task);
    const { activateExtension, messageSettings } = request;
    const when = messageSettings && { delivery: messageSettings.delivery };
    const sequence = await session.accept({ message, activateExtension, ...when });
    return { held: held.hold(), after: sequence - 1n };
  }

  /** The session that a message goes to; undefined when it starts a task. An answer never does (TOOL-5). */
  async #sessionFor(
    { taskId, contextId }: SendMessageRequest,
    message: Message,
    principal: string,
  ): Promise<HeldSession | undefined> {
    if (taskId !== "") return this.find(taskId, principal);
    const answers = confirmationsOf(message);
    return answers.length === 0 ? undefined : findAsking(this.#options, answers, { contextId, principal });
  }

  async #create(opening: Partial<TaskCreated>, where: TaskOrigin, principal: string): Promise<Exchange> {
    const { registry, nextId } = this.#options;
    const session = await this.#sessionOf(where.contextId, principal);
    const { settings, sessionSettings } = settleSettings(where.settings, session?.settings, this.#options);
    const { message, command } = opening;
    const created = create(TaskCreatedSchema, {
      principal,
      ...(message && { message }),
      ...(command && { command }),
      ...(settings && { settings }),
      ...(sessionSettings && { sessionSettings }),
    });
    const place = {
      contextId: where.contextId || nextId(),
      extensionActive: where.activateExtension || session?.extensionActive === true,
    };
    return { held: await registry.create(nextId(), place, created), after: 0n };
  }

  async #sessionOf(contextId: string, principal: string): Promise<Session | undefined> {
    assertName("context_id", contextId);
    return contextId === "" ? undefined : findSession(this.#options.store, contextId, principal);
  }

  async #findRetry(request: SendMessageRequest, message: Message, principal: string): Promise<Exchange | undefined> {
    const { store, registry, retryWindowMs } = this.#options;
    if (retryWindowMs === 0) return undefined;
    const event = await store.findMessage(principal, message.messageId);
    if (!event || !this.#isRecent(event)) return undefined;
    const recorded = recordedMessage(event);
    if (!recorded || !isRetry(event, recorded, { request, message })) throw conflict(message.messageId);
    using held = await registry.get(event.taskId);
    if (!held) return undefined;
    if (request.activateExtension) await held.session.activateExtension();
    const firstTime = event.time && { firstTime: event.time };
    const replay = create(ReplaySchema, { messageId: message.messageId, ...firstTime });
    return { held: held.hold(), after: event.sequence - 1n, replay };
  }

  #isRecent({ time }: TaskEvent): boolean {
    return time !== undefined && this.#options.now().getTime() - timestampMs(time) < this.#options.retryWindowMs;
  }
}

/** Whether a message repeats the one that an event recorded. */
function isRetry(
  { taskId, payload }: TaskEvent,
  recorded: Message,
  { request, message }: { readonly request: SendMessageRequest; readonly message: Message },
): boolean {
  const opens = payload.case === "created" || confirmationsOf(message).length > 0;
  const sameTask = request.taskId === "" ? opens : request.taskId === taskId;
  if (sameTask && isSameMessage(recorded, message)) return true;
  // In A2A 1.0 a message to a task that has ended begins another, which refers to it: the task may have ended in between.
  const before = referring(recorded, payload.case === "created" ? "" : taskId);
  return isSameMessage(before, referring(message, request.taskId));
}

/** A message that refers to the task that it was sent to. */
function referring(message: Message, taskId: string): Message {
  const ids = new Set([...message.referenceTaskIds, taskId]);
  ids.delete("");
  return { ...message, referenceTaskIds: [...ids].sort() };
}

/** Whether two messages say the same; what is beside them, for instance a trace, may differ from one sending to the next. */
function isSameMessage(one: Message, other: Message): boolean {
  const beside = { extensions: [], metadata: {} };
  return equals(MessageSchema, { ...one, ...beside }, { ...other, ...beside });
}

/** Of two messages under one id nobody could say which was answered, or which one a retry repeats. */
function conflict(messageId: string): DevtoolError {
  const subject = `message.message_id ${quoted(messageId)}`;
  return new DevtoolError(`${subject} was used for another message`, Code.AlreadyExists, {
    remedy: "choose an id that is new for each message",
    details: { field: "message.message_id", value: shorten(messageId) },
  });
}

function recordedMessage({ payload }: TaskEvent): Message | undefined {
  if (payload.case === "created" || payload.case === "messageQueued") return payload.value.message;
  return payload.case === "message" ? payload.value : undefined;
}

function checkedMessage(message: Message | undefined, maxParts: number): Message {
  if (!message) throw invalid("message", "", "is missing");
  if (message.role === Role.AGENT) throw invalid("message.role", "agent", "must be the user's in what a client sends");
  if (message.messageId === "")
    throw invalid("message.message_id", "", "is missing", "choose an id that is new for each message");
  if (message.parts.length === 0) throw invalid("message.parts", "", "is empty: a message needs at least one part");
  if (message.parts.length > maxParts) {
    throw invalid("message.parts", String(message.parts.length), `are too many: limit is ${maxParts}`);
  }
  assertName("message.message_id", message.messageId);
  assertName("model", message.model);
  assertNames("message.reference_task_ids", message.referenceTaskIds);
  assertNames("message.extensions", message.extensions);
  const odd = message.parts.findIndex(({ content }) => !CLIENT_PARTS.has(content.case));
  if (odd >= 0)
    throw invalid(
      `message.parts[${odd}]`,
      message.parts[odd]?.content.case ?? "",
      "is not for a client to send: a client sends text, file, data or a confirmation",
    );
  return keptMessage({ ...message, role: Role.USER });
}

const CLIENT_PARTS: ReadonlySet<string | undefined> = new Set(["text", "file", "data", "dataValue", "confirmation"]);
