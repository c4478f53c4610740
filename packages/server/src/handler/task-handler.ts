import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  endsExchange,
  isTerminal,
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SubscribeTaskRequest,
  type TaskEvent,
  type TaskService,
  TaskState,
  TaskSummarySchema,
} from "@devtool/schema";
import { Code, DevtoolError, invalid } from "../errors.ts";
import type { TaskQuery, TaskStore } from "../store/task-store.ts";
import { principalOf } from "./caller.ts";
import type { Exchange, Exchanges } from "./exchange.ts";
import { pushNotSupported, type RegistrarOf } from "./push-handler.ts";
import { shownEvent, shownTask } from "./shown-settings.ts";

/** What a client may do with tasks; without a registrar, nobody is notified. */
export function createTaskHandler(
  exchanges: Exchanges,
  store: TaskStore,
  registrarOf?: RegistrarOf,
): ServiceImpl<typeof TaskService> {
  const begin = (request: SendMessageRequest, context: HandlerContext) =>
    beginExchange({ exchanges, registrarOf }, request, context);
  const find = (taskId: string, context: HandlerContext) => exchanges.find(taskId, principalOf(context));
  return {
    async sendMessage(request, context) {
      const exchange = await begin(request, context);
      // A task that nobody is shown cannot be asked for later.
      const waits = !request.returnImmediately || exchange.session.task.replyOnly;
      if (waits) await exchangeEnd(exchange, context.signal);
      return { task: shownTask(exchange.session.task) };
    },
    async *streamMessage({ request = create(SendMessageRequestSchema) }, context) {
      const exchange = await begin(request, context);
      for await (const event of exchange.session.log.read(exchange.after, context.signal)) {
        yield { event: shownEvent(event) };
        if (endsExchange(event)) return;
      }
    },
    async getTask({ taskId }, context) {
      return { task: shownTask((await find(taskId, context)).task) };
    },
    listTasks: (request, context) => listTasks(store, request, principalOf(context)),
    async cancelTask({ taskId }, context) {
      const session = await find(taskId, context);
      await session.cancel();
      return { task: shownTask(session.task) };
    },
    async *subscribeTask(request, context) {
      const { log } = await find(request.taskId, context);
      assertReached(request, log.task.sequence);
      for await (const event of readTask(log, request.afterSequence, context.signal)) {
        yield { event: shownEvent(event) };
      }
    },
  };
}

/** Begins the exchange of a message. Who is to be notified is checked before anything happens, and told of all of it. */
async function beginExchange(
  { exchanges, registrarOf }: { readonly exchanges: Exchanges; readonly registrarOf: RegistrarOf | undefined },
  request: SendMessageRequest,
  context: HandlerContext,
): Promise<Exchange> {
  const principal = principalOf(context);
  if (!request.pushConfig) return exchanges.begin(request, principal);
  if (!registrarOf) throw pushNotSupported();
  const registrar = await registrarOf();
  const config = await registrar.check(request.pushConfig, context.signal);
  const exchange = await exchanges.begin(request, principal);
  await registrar.put(config, { taskId: exchange.session.task.id, principal, after: exchange.after });
  return exchange;
}

/** Waits until an exchange has ended. */
async function exchangeEnd({ session, after }: Exchange, signal: AbortSignal): Promise<void> {
  for await (const event of session.log.read(after, signal)) if (endsExchange(event)) return;
}

/** Reads a task's log to the point where the task has ended and nothing follows. */
async function* readTask(
  log: Exchange["session"]["log"],
  after: bigint,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  if (after === log.task.sequence && isTerminal(log.task.state)) return;
  for await (const event of log.read(after, signal)) {
    yield event;
    if (isTerminal(event.state) && event.sequence === log.task.sequence) return;
  }
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
