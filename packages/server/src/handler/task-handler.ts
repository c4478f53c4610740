import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  endsExchange,
  exchangeHistory,
  isTerminal,
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SubscribeTaskRequest,
  type Task,
  type TaskEvent,
  type TaskService,
  TaskState,
  TaskSummarySchema,
} from "@devtool/schema";
import { Code, DevtoolError, invalid } from "../errors.ts";
import { failpoint } from "../failpoint.ts";
import type { PushRegistrar } from "../push/push-registrar.ts";
import type { TaskQuery, TaskStore } from "../store/task-store.ts";
import type { HeldSession } from "../task/held-session.ts";
import type { TaskSession } from "../task/task-session.ts";
import { addressed } from "./addressed-agent.ts";
import { principalOf } from "./caller.ts";
import type { Exchange, Exchanges } from "./exchange.ts";
import { pushNotSupported } from "./push-handler.ts";
import { shownEvent, shownTask } from "./shown-settings.ts";
import type { StreamLimit } from "./stream-limit.ts";

/** What a client may do with tasks; without a registrar, nobody is notified. */
export function createTaskHandler(
  exchanges: Exchanges,
  store: TaskStore,
  streams: StreamLimit,
  registrar?: PushRegistrar,
): ServiceImpl<typeof TaskService> {
  const begin = (request: SendMessageRequest, context: HandlerContext) =>
    beginExchange({ exchanges, registrar }, addressed(request, context), context);
  const find = (taskId: string, context: HandlerContext) => exchanges.find(taskId, principalOf(context));
  return {
    async sendMessage(request, context) {
      const exchange = await begin(request, context);
      using held = exchange.held;
      const { session } = held;
      // A task that nobody is shown cannot be asked for later.
      const waits = !request.returnImmediately || session.task.replyOnly;
      if (waits) await exchangeEnd(exchange, context.signal);
      const task = taskOf(session);
      const history = exchangeHistory(task, request.message?.messageId ?? "");
      return { task: { ...task, history }, ...(exchange.replay && { replay: exchange.replay }) };
    },
    async *streamMessage({ request = create(SendMessageRequestSchema) }, context) {
      using _stream = streams.enter(context);
      const exchange = await begin(request, context);
      using held = exchange.held;
      for await (const event of held.session.log.read(exchange.after, context.signal)) {
        const { replay } = event.sequence === exchange.after + 1n ? exchange : {};
        failpoint("devtool:exchange.show.before");
        yield { event: shownEvent(event), ...(replay && { replay }) };
        failpoint("devtool:exchange.show.after");
        if (endsExchange(event)) return;
      }
    },
    async getTask({ taskId }, context) {
      using held = await find(taskId, context);
      return { task: taskOf(held.session) };
    },
    listTasks: (request, context) => listTasks(store, request, principalOf(context)),
    async cancelTask({ taskId }, context) {
      using held = await find(taskId, context);
      await held.session.cancel();
      return { task: taskOf(held.session) };
    },
    async withdrawMessage({ taskId, messageId }, context) {
      if (messageId === "") throw invalid("message_id", "", "is missing", "name the message to withdraw");
      using held = await find(taskId, context);
      await held.session.withdraw(messageId);
      return { task: taskOf(held.session) };
    },
    // Counted here, not with its first event: a transport may show the task before, and a client is refused before that.
    subscribeTask(request, context) {
      const stream = streams.enter(context);
      return follow(() => find(request.taskId, context), request, { stream, signal: context.signal });
    },
  };
}

/** The events of a task after a sequence, to its end. */
async function* follow(
  find: () => Promise<HeldSession>,
  request: SubscribeTaskRequest,
  { stream, signal }: { readonly stream: Disposable; readonly signal: AbortSignal },
): AsyncIterable<{ readonly event: TaskEvent }> {
  using _stream = stream;
  using held = await find();
  const { log } = held.session;
  assertReached(request, log.task.sequence);
  if (request.afterSequence === log.task.sequence && isTerminal(log.task.state)) return;
  for await (const event of log.read(request.afterSequence, signal)) {
    failpoint("devtool:subscription.show.before");
    yield { event: shownEvent(event) };
    failpoint("devtool:subscription.show.after");
    if (isTerminal(event.state) && event.sequence === log.task.sequence) return;
  }
}

/** The task of a session as clients may see it, with what is active in its conversation also when no event of it says so. */
function taskOf({ task, extensionActive }: TaskSession): Task {
  return { ...shownTask(task), extensionActive };
}

/** Begins the exchange of a message. Who is to be notified is checked before anything happens, and told of all of it. */
async function beginExchange(
  { exchanges, registrar }: { readonly exchanges: Exchanges; readonly registrar: PushRegistrar | undefined },
  request: SendMessageRequest,
  context: HandlerContext,
): Promise<Exchange> {
  const principal = principalOf(context);
  if (!request.pushConfig) return exchanges.begin(request, principal);
  if (!registrar) throw pushNotSupported();
  const config = await registrar.check(request.pushConfig, "push_config", context.signal);
  const exchange = await exchanges.begin(request, principal);
  using held = exchange.held;
  await registrar.put(config, { taskId: held.session.task.id, principal, after: exchange.after });
  return { ...exchange, held: held.hold() };
}

/** Waits until an exchange has ended. */
async function exchangeEnd({ held, after }: Exchange, signal: AbortSignal): Promise<void> {
  for await (const event of held.session.log.read(after, signal)) if (endsExchange(event)) return;
}

function assertReached({ afterSequence, taskId }: SubscribeTaskRequest, head: bigint): void {
  if (afterSequence >= 0n && afterSequence <= head) return;
  throw new DevtoolError(
    `after_sequence ${afterSequence} is out of range: task ${JSON.stringify(taskId)} is at ${head}`,
    Code.OutOfRange,
    { details: { field: "after_sequence", value: String(afterSequence) } },
  );
}

async function listTasks(store: TaskStore, request: ListTasksRequest, principal: string): Promise<ListTasksResponse> {
  const { tasks, cursor } = await store.list(queryOf(request, principal));
  return create(ListTasksResponseSchema, {
    tasks: tasks.map((lastEvent) =>
      create(TaskSummarySchema, {
        id: lastEvent.taskId,
        contextId: lastEvent.contextId,
        lastEvent: shownEvent(lastEvent),
      }),
    ),
    nextPageToken: cursor ?? "",
  });
}

function queryOf({ pageSize, pageToken, contextId, state }: ListTasksRequest, principal: string): TaskQuery {
  if (pageSize < 0 || pageSize > 100) throw invalid("page_size", String(pageSize), "must be 1 to 100, or 0 for 50");
  return {
    principal,
    limit: pageSize || 50,
    ...(contextId !== "" && { contextId }),
    ...(state !== TaskState.UNSPECIFIED && { state }),
    ...(pageToken !== "" && { cursor: pageToken }),
  };
}
