import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import {
  type ContextKey,
  createContextKey,
  type HandlerContext,
} from "@connectrpc/connect";
import {
  type AgentListService,
  type AuditService,
  type BackupService,
  emptyTask,
  endsExchange,
  type PushService,
  type SendMessageRequest,
  type SlashCommandService,
  type Task,
  type TaskEvent,
  type TaskService,
  type WorkspaceService,
} from "@devtool/schema";
import type { AgentOffers } from "../agent/agent-offers.ts";
import type { Stream, Unary } from "./intercepted-call.ts";

/** The implementation of a service. */
export type Methods<S extends DescService> = {
  readonly [Name in keyof S["method"]]: S["method"][Name] extends DescMethodUnary<
    infer I,
    infer O
  >
    ? Unary<I, O>
    : S["method"][Name] extends DescMethodServerStreaming<infer I, infer O>
      ? Stream<I, O>
      : never;
};

/** A method with one answer, as its callers see it. */
export type UnaryCall<I extends DescMessage, O extends DescMessage> = (
  request: MessageInitShape<I>,
  context: HandlerContext,
) => Promise<MessageShape<O>>;

/** A method whose answer is a stream, as its callers see it. */
export type StreamCall<I extends DescMessage, O extends DescMessage> = (
  request: MessageInitShape<I>,
  context: HandlerContext,
) => AsyncIterable<MessageShape<O>>;

/**
 * A service as its callers see it: requests may leave fields out, and answers
 * are whole messages. It implements the service for Connect, too.
 */
export type Calls<S extends DescService> = {
  readonly [Name in keyof S["method"]]: S["method"][Name] extends DescMethodUnary<
    infer I,
    infer O
  >
    ? UnaryCall<I, O>
    : S["method"][Name] extends DescMethodServerStreaming<infer I, infer O>
      ? StreamCall<I, O>
      : never;
};

/**
 * Everything that a client can request, independent of the protocol.
 *
 * The generated services are the interface: each transport decodes its requests
 * to theirs and calls these functions. A call carries its principal in the
 * context values (`principalKey`).
 */
export interface RequestHandler {
  readonly tasks: Calls<typeof TaskService>;
  readonly commands: Calls<typeof SlashCommandService>;
  readonly push: Calls<typeof PushService>;
  readonly audit: Calls<typeof AuditService>;
  readonly backups: Calls<typeof BackupService>;
  readonly agents: Calls<typeof AgentListService>;
  readonly workspaces: Calls<typeof WorkspaceService>;

  /** The limit on open streams per caller. */
  readonly streams: {
    /**
     * Counts a stream of the call until the result is disposed of, for a call
     * that starts something before it subscribes. Throws
     * `Code.ResourceExhausted` at the limit.
     */
    enter(context: HandlerContext): Disposable;
  };

  /**
   * Lists the tools and MCP servers of a task of the caller; none when its
   * agent cannot list them.
   */
  readonly offers: (
    taskId: string,
    context: HandlerContext,
  ) => Promise<AgentOffers>;

  /**
   * Returns the task to which a message of the caller goes that names a context
   * and no task. Empty for a new task.
   */
  readonly recipientOf: (
    message: { readonly messageId: string; readonly contextId: string },
    context: HandlerContext,
  ) => Promise<string>;

  /**
   * Throws for settings that a request without a message asks for and a task of
   * the caller does not have: only a message changes settings.
   */
  readonly assertKept: (
    taskId: string,
    requested: Pick<SendMessageRequest, "settings" | "sessionSettings">,
    context: HandlerContext,
  ) => Promise<void>;

  /**
   * Tells the server's observer that a dialect answers a request for a method
   * of its own, and later of its end. The calls in the context that follow are
   * parts of it; without this, each of them is a request.
   */
  readonly observe: (
    method: string,
    context: HandlerContext,
  ) => ObservedRequest;
}

/** A request that the server's observer hears of. Only the first end counts. */
export interface ObservedRequest {
  /** Tells that the request has its answer. */
  succeed(): void;
  /** Tells that the request is answered with an error. */
  fail(reason: unknown): void;
  /** Tells that the client has left the stream that answers the request. */
  leave(): void;
}

/**
 * Returns a task of the caller. Throws `Code.NotFound` when the caller has none
 * with this id.
 *
 * @param messages how many of the last messages must have their content.
 * Default: all
 */
export async function findTask(
  { tasks }: RequestHandler,
  { context }: { readonly context: HandlerContext },
  taskId: string,
  messages: MessagesNeeded = allMessages,
): Promise<Task> {
  context.values.set(messagesKey, messages);
  const { task } = await tasks.getTask({ taskId }, context);
  return task ?? emptyTask();
}

/**
 * Yields the events of a task of the caller after a sequence until an exchange
 * ends: the task has ended, or waits for somebody.
 */
export async function* eventsUntilRest(
  { tasks }: RequestHandler,
  { context }: { readonly context: HandlerContext },
  taskId: string,
  afterSequence = 0n,
): AsyncIterable<TaskEvent> {
  const request = { taskId, afterSequence };
  for await (const { event } of tasks.subscribeTask(request, context)) {
    if (!event) continue;
    yield event;
    if (endsExchange(event)) return;
  }
}

/**
 * The context key of the principal of a call. A call without it is refused with
 * `Code.Unauthenticated`.
 */
export const principalKey: ContextKey<string> = createContextKey("", {
  description: "principal",
});

/**
 * The context key of the id that the task of a message gets if the message
 * creates one. Empty for a random id.
 *
 * Of several messages with the same id, one creates a task, and the store
 * refuses the others, also those of other servers.
 */
export const newTaskIdKey: ContextKey<string> = createContextKey("", {
  description: "id of a new task",
});

/**
 * Returns how many of the last messages of a task a request needs with their
 * content, from the task without the rest of it.
 */
export type MessagesNeeded = (task: Task) => number;

const allMessages: MessagesNeeded = ({ history }) => history.length;

/** What `getTask` reads for another part of this server. */
export const messagesKey: ContextKey<MessagesNeeded> = createContextKey(
  allMessages,
  { description: "messages of a task that are needed with their content" },
);
