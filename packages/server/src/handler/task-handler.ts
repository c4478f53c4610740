import { create, type MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { failpoint } from "@devtool/internal/failpoint";
import { defined } from "@devtool/internal/json";
import {
  endsExchange,
  exchangeHistory,
  GoalState,
  isTerminal,
  type Replay,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SubscribeTaskRequest,
  type Task,
  type TaskEvent,
  type TaskService,
} from "@devtool/schema";
import { Code, DevtoolError, invalid } from "../errors.ts";
import type { PushRegistrar } from "../push/push-registrar.ts";
import type { TaskStore } from "../store/task-store.ts";
import { assertGoalState } from "../task/goal-progress.ts";
import type { HeldTask, TaskHandle } from "../task/task-handle.ts";
import { withAddressedAgent } from "./addressed-agent.ts";
import { isOperator, principalOf, sendingCaller } from "./caller.ts";
import type { Exchange, Exchanges } from "./exchange.ts";
import { hideSecretsInEvent, hideSecretsInTask } from "./hide-secrets.ts";
import { assertLabel, readTitle } from "./name-limit.ts";
import { noteLast, traceContextOf } from "./observed-call.ts";
import { pushNotSupported } from "./push-handler.ts";
import { type Methods, messagesKey, newTaskIdKey } from "./request-handler.ts";
import type { StreamLimit } from "./stream-limit.ts";
import { listTasks, watchTasks } from "./task-list.ts";

/**
 * Creates the handler of `TaskService`.
 *
 * @param registrar stores push configs that come with a message; without it,
 * such a message is refused
 */
export function createTaskHandler(
  exchanges: Exchanges,
  store: TaskStore,
  streams: StreamLimit,
  registrar?: PushRegistrar,
): Methods<typeof TaskService> {
  const find = (taskId: string, context: HandlerContext) =>
    exchanges.find(taskId, principalOf(context));
  return {
    sendMessage: async (request, context) =>
      finishExchange(
        await beginExchange(exchanges, registrar, request, context),
        request,
        context.signal,
      ),
    streamMessage({ request = create(SendMessageRequestSchema) }, context) {
      return followExchange(
        () => beginExchange(exchanges, registrar, request, context),
        streams.enter(context),
        context,
      );
    },
    async getTask({ taskId }, context) {
      using held = await find(taskId, context);
      const messages = context.values.get(messagesKey)(held.handle.task);
      return { task: await taskForClients(held.handle, messages) };
    },
    listTasks: (request, context) => listTasks(store, request, context),
    async cancelTask({ taskId }, context) {
      using held = await find(taskId, context);
      await held.handle.cancel();
      return { task: await taskForClients(held.handle) };
    },
    async withdrawMessage({ taskId, messageId }, context) {
      if (messageId === "") {
        throw invalid(
          "message_id",
          "",
          "is missing",
          "name the message to withdraw",
        );
      }
      using held = await find(taskId, context);
      await held.handle.withdraw(messageId);
      return { task: await taskForClients(held.handle) };
    },
    async renameTask({ taskId, title, clientLabel }, context) {
      using held = await find(taskId, context);
      const line = readTitle("title", title);
      assertLabel("client_label", clientLabel);
      await held.handle.setTitle(line, clientLabel);
      return { task: await taskForClients(held.handle) };
    },
    async setGoalState({ taskId, state }, context) {
      assertGoalState(state);
      using held = await find(taskId, context);
      if (state === GoalState.ACTIVE) {
        exchanges.assertMayResume(held.handle.task, sendingCaller(context));
      }
      await held.handle.setGoalState(state);
      return { task: await taskForClients(held.handle) };
    },
    async deleteTask({ taskId, clientLabel }, context) {
      assertLabel("client_label", clientLabel);
      const principal = principalOf(context);
      const reach = isOperator(context) ? "all" : "own";
      await exchanges.delete(taskId, principal, clientLabel, reach);
      return {};
    },
    // The stream is counted before its first event is read: a transport may
    // send the task first, and a client at the limit is refused before that.
    subscribeTask(request, context) {
      return follow(exchanges, request, streams.enter(context), context);
    },
    async *watchTasks(request, context) {
      using _stream = streams.enter(context);
      yield* watchTasks(
        { store, feed: exchanges.feed, changes: exchanges.changes },
        request,
        context,
      );
    },
  };
}

/**
 * Starts the exchange of a message. A push config in the request is checked
 * before the message starts anything, and covers all events of the exchange.
 */
async function beginExchange(
  exchanges: Exchanges,
  registrar: PushRegistrar | undefined,
  message: SendMessageRequest,
  context: HandlerContext,
): Promise<Exchange> {
  const request = withTrace(withAddressedAgent(message, context), context);
  const caller = sendingCaller(context);
  const newTaskId = context.values.get(newTaskIdKey);
  if (!request.pushConfig) {
    return exchanges.begin(request, caller, newTaskId);
  }
  if (!registrar) throw pushNotSupported();
  const config = await registrar.check(
    request.pushConfig,
    "push_config",
    context.signal,
  );
  const exchange = await exchanges.begin(request, caller, newTaskId);
  using held = exchange.held;
  await registrar.put(config, {
    taskId: held.handle.task.id,
    principal: caller.principal,
    after: exchange.after,
  });
  return { ...exchange, held: held.hold() };
}

/**
 * Returns a request whose message has the trace of its request, if any. Throws
 * `Code.InvalidArgument` for a message that has one already.
 */
function withTrace(
  request: SendMessageRequest,
  context: HandlerContext,
): SendMessageRequest {
  const traceContext = traceContextOf(context);
  const { message } = request;
  if (message?.traceContext) {
    throw invalid(
      "message.trace_context",
      "",
      "is the server's",
      "send the header traceparent",
    );
  }
  if (!traceContext || !message) return request;
  return { ...request, message: { ...message, traceContext } };
}

/**
 * Waits until an exchange ends, unless the request wants the task at once, and
 * returns the task with the history of the exchange.
 */
async function finishExchange(
  { held: begun, after, replay }: Exchange,
  { returnImmediately, message }: SendMessageRequest,
  signal: AbortSignal,
): Promise<{ readonly task: Task; readonly replay?: Replay }> {
  using held = begun;
  const { handle } = held;
  // A task that is answered with a message alone is not shown, so a client
  // could not ask for it later.
  if (!returnImmediately || handle.task.replyOnly) {
    for await (const events of handle.read(after, signal)) {
      if (events.some(endsExchange)) break;
    }
  }
  const messageId = message?.messageId ?? "";
  const { length } = exchangeHistory(handle.task, messageId);
  const task = await taskForClients(handle, length);
  const history = exchangeHistory(task, messageId);
  return defined({ task: { ...task, history }, replay });
}

/**
 * Begins an exchange and yields its events until it ends. The first event of a
 * retry names the first message.
 */
async function* followExchange(
  begin: () => Promise<Exchange>,
  stream: Disposable,
  context: HandlerContext,
): AsyncIterable<MessageShape<typeof TaskService.method.streamMessage.output>> {
  using _stream = stream;
  const { held: begun, after, replay } = await begin();
  using held = begun;
  let last: TaskEvent | undefined;
  try {
    for await (const events of held.handle.read(after, context.signal)) {
      for (const event of events) {
        last = event;
        const shown = hideSecretsInEvent(event);
        failpoint("devtool:exchange.show.before");
        // Not by `create`, whose time each event of each reader would cost.
        const $typeName = "devtool.v1alpha.StreamMessageResponse";
        yield replay && event.sequence === after + 1n
          ? { $typeName, event: shown, replay }
          : { $typeName, event: shown };
        failpoint("devtool:exchange.show.after");
        if (endsExchange(event)) return;
      }
    }
  } finally {
    noteLast(context, last);
  }
}

/** Yields the events of a task after a sequence until the task ends. */
async function* follow(
  exchanges: Exchanges,
  { taskId, afterSequence }: SubscribeTaskRequest,
  stream: Disposable,
  context: HandlerContext,
): AsyncIterable<MessageShape<typeof TaskService.method.subscribeTask.output>> {
  let held: HeldTask | undefined;
  let last: TaskEvent | undefined;
  // Not `using`: as it is compiled, it costs an idle stream 400 bytes.
  try {
    held = await exchanges.find(taskId, principalOf(context));
    const { handle } = held;
    const { sequence: head, state } = handle.task;
    if (afterSequence < 0n || afterSequence > head) {
      const problem = `after_sequence ${afterSequence} is out of range: task ${JSON.stringify(taskId)} is at ${head}`;
      const details = { field: "after_sequence", value: String(afterSequence) };
      throw new DevtoolError(problem, Code.OutOfRange, { details });
    }
    if (afterSequence === head && isTerminal(state)) return;
    for await (const events of handle.read(afterSequence, context.signal)) {
      for (const event of events) {
        last = event;
        failpoint("devtool:subscription.show.before");
        const $typeName = "devtool.v1alpha.SubscribeTaskResponse";
        yield { $typeName, event: hideSecretsInEvent(event) };
        failpoint("devtool:subscription.show.after");
        const isLast = event.sequence === handle.task.sequence;
        if (isLast && isTerminal(event.state)) return;
      }
    }
  } finally {
    noteLast(context, last);
    held?.[Symbol.dispose]();
    stream[Symbol.dispose]();
  }
}

/**
 * Returns the task of a session for clients. `extensionActive` is that of the
 * conversation, which may be newer than the last event of the task.
 *
 * @param messages how many of the last messages the client gets. Default: all
 */
async function taskForClients(
  handle: TaskHandle,
  messages?: number,
): Promise<Task> {
  const task = hideSecretsInTask(await handle.whole(messages));
  return { ...task, extensionActive: handle.extensionActive };
}
