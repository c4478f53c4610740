import { create, equals } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Message,
  MessageSchema,
  Role,
  type SendMessageRequest,
  type TaskCreated,
  TaskCreatedSchema,
  type TaskEvent,
} from "@devtool/schema";
import { Code, DevtoolError, invalid } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { SessionRegistry } from "../task/session-registry.ts";
import type { TaskSession } from "../task/task-session.ts";
import {
  assertUnchanged,
  findSettings,
  type Settings,
  settleSettings,
  type WorkspaceOptions,
} from "./session-settings.ts";

/** What a message set off: a piece of a task's log that begins after a sequence. */
export interface Exchange {
  readonly session: TaskSession;
  /** The sequence before the event that records the message. */
  readonly after: bigint;
}

/** What exchanges need. */
export interface ExchangeOptions extends WorkspaceOptions {
  readonly registry: SessionRegistry;
  readonly store: TaskStore;
  readonly now: () => Date;
  readonly nextId: () => string;
  /** For so long the same message under the same id is a retry; 0 never takes it for one. In milliseconds. */
  readonly retryWindowMs: number;
  /** So many parts a message may have. */
  readonly maxParts: number;
}

/** Starts exchanges: checks a message once for every transport, and tells a retry from a new one (STREAM-7). */
export class Exchanges {
  readonly #options: ExchangeOptions;
  readonly #starting = new Map<string, Promise<Exchange>>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Starts the exchange of a message, or finds the one that its first sending started. */
  async begin(request: SendMessageRequest, principal: string): Promise<Exchange> {
    const message = checkedMessage(request.message, this.#options.maxParts);
    const key = JSON.stringify([principal, message.messageId]);
    const earlier = this.#starting.get(key);
    if (earlier) await earlier.catch(() => undefined);
    const known = await this.#findRetry(request, message, principal);
    if (known) return known;
    const starting = this.#start(request, message, principal);
    this.#starting.set(key, starting);
    return starting.finally(() => this.#starting.delete(key));
  }

  /** Opens a task for a slash command. */
  async beginCommand(
    created: Pick<TaskCreated, "command">,
    where: { readonly contextId: string; readonly settings: Settings },
    principal: string,
  ): Promise<Exchange> {
    return this.#create(created, where, principal);
  }

  /** The settings that a task of a context would have. Throws when there can be none. */
  async settingsFor(
    { contextId, settings }: { readonly contextId: string; readonly settings: Settings },
    principal: string,
  ): Promise<Settings> {
    const earlier = contextId === "" ? undefined : await findSettings(this.#options.store, contextId, principal);
    return settleSettings(settings, earlier, this.#options);
  }

  /** The directory of clients that name none; empty when there is none. */
  get defaultWorkspace(): string {
    return this.#options.workspace ?? "";
  }

  /** Gets the session of a task that the principal may see; a foreign task is a missing task. */
  async find(taskId: string, principal: string): Promise<TaskSession> {
    const session = taskId === "" ? undefined : await this.#options.registry.get(taskId);
    if (session?.task.principal === principal) return session;
    throw new DevtoolError(`task ${JSON.stringify(taskId)} does not exist`, Code.NotFound, {
      details: { field: "task_id", value: taskId },
    });
  }

  async #start(request: SendMessageRequest, message: Message, principal: string): Promise<Exchange> {
    if (request.taskId === "") return this.#create({ message }, { ...request, settings: request }, principal);
    const session = await this.find(request.taskId, principal);
    if (request.contextId !== "" && request.contextId !== session.task.contextId) {
      throw invalid(
        "context_id",
        request.contextId,
        `task ${JSON.stringify(request.taskId)} belongs to another context`,
      );
    }
    assertUnchanged(request, session.task);
    const sequence = await session.accept(message);
    return { session, after: sequence - 1n };
  }

  async #create(
    opening: Partial<TaskCreated>,
    where: { readonly contextId: string; readonly settings: Settings },
    principal: string,
  ): Promise<Exchange> {
    const { registry, nextId } = this.#options;
    const contextId = where.contextId || nextId();
    const { settings, sessionSettings } = await this.settingsFor(where, principal);
    const { message, command } = opening;
    const created = create(TaskCreatedSchema, {
      principal,
      ...(message && { message }),
      ...(command && { command }),
      ...(settings && { settings }),
      ...(sessionSettings && { sessionSettings }),
    });
    return { session: await registry.create(nextId(), contextId, created), after: 0n };
  }

  async #findRetry(request: SendMessageRequest, message: Message, principal: string): Promise<Exchange | undefined> {
    const { store, registry, retryWindowMs } = this.#options;
    if (retryWindowMs === 0) return undefined;
    const event = await store.findMessage(principal, message.messageId);
    if (!event || !this.#isRecent(event)) return undefined;
    const recorded = recordedMessage(event);
    const sameTask = request.taskId === "" ? event.payload.case === "created" : request.taskId === event.taskId;
    if (!recorded || !sameTask || !equals(MessageSchema, recorded, message)) return undefined;
    const session = await registry.get(event.taskId);
    return session && { session, after: event.sequence - 1n };
  }

  #isRecent({ time }: TaskEvent): boolean {
    return time !== undefined && this.#options.now().getTime() - timestampMs(time) < this.#options.retryWindowMs;
  }
}

function recordedMessage({ payload }: TaskEvent): Message | undefined {
  if (payload.case === "created") return payload.value.message;
  return payload.case === "message" ? payload.value : undefined;
}

function checkedMessage(message: Message | undefined, maxParts: number): Message {
  if (!message) throw invalid("message", "", "is missing");
  if (message.messageId === "")
    throw invalid("message.message_id", "", "is missing: choose an id that is new for each message");
  if (message.parts.length === 0) throw invalid("message.parts", "", "is empty: a message needs at least one part");
  if (message.parts.length > maxParts) {
    throw invalid("message.parts", String(message.parts.length), `are too many: limit is ${maxParts}`);
  }
  const odd = message.parts.findIndex(({ content }) => !CLIENT_PARTS.has(content.case));
  if (odd >= 0)
    throw invalid(
      `message.parts[${odd}]`,
      message.parts[odd]?.content.case ?? "",
      "a client sends text, file, data or confirmation",
    );
  return { ...message, role: Role.USER };
}

const CLIENT_PARTS: ReadonlySet<string | undefined> = new Set(["text", "file", "data", "confirmation"]);
