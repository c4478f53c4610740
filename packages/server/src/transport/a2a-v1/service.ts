import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { CancelTaskRequestSchema, TaskSchema, WithdrawMessageRequestSchema } from "@devtool/schema";
import {
  A2AService,
  A2aSendMessageRequestSchema,
  type A2aTask,
  type AgentCard,
  MessageQueueService,
} from "@devtool/schema/a2a-v1";
import { Code, DevtoolError, withFieldNames } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { oncePerEvent } from "../a2a/once-per-event.ts";
import { pushFieldNames } from "../a2a/push-fields.ts";
import { assertExtension, type Call, openCall } from "./call.ts";
import { A2aFailure, connectErrorOf, ERROR_TABLE } from "./errors.ts";
import { type ResponseOf, responseOf } from "./frames.ts";
import { a2aTask, assertHistoryLength, sendMessage, streamMessage, subscribe, taskOf } from "./messages.ts";
import type { A2aServiceOptions } from "./options.ts";
import { createConfig, deleteConfig, getConfig, listConfigs } from "./push-configs.ts";
import { listTasks } from "./task-list.ts";

/** The service of A2A 1.0 in terms of our own; each of its bindings calls this one. What it throws is a `ConnectError`. */
export function createA2aService(options: A2aServiceOptions): ServiceImpl<typeof A2AService> {
  const { handler } = options;
  const { method } = A2AService;
  const { unary, streaming } = wrappers(options);
  return {
    sendMessage: unary(method.sendMessage, (request, call) => sendMessage(options, request, call)),
    sendStreamingMessage: streaming(method.sendStreamingMessage, (request, call) =>
      streamMessage(options, request, call),
    ),
    getTask: unary(method.getTask, async ({ id, historyLength }, call) => {
      assertHistoryLength(historyLength, "historyLength");
      return a2aTask(await taskOf(handler, id, call), call, historyLength);
    }),
    listTasks: unary(method.listTasks, (request, call) => listTasks(handler, request, call)),
    cancelTask: unary(method.cancelTask, ({ id }, call) => cancelTask(handler, id, call)),
    subscribeToTask: streaming(method.subscribeToTask, ({ id }, call) => subscribe(handler, id, call)),
    createTaskPushNotificationConfig: unary(method.createTaskPushNotificationConfig, (request, call) =>
      createConfig(handler, request, call),
    ),
    getTaskPushNotificationConfig: unary(method.getTaskPushNotificationConfig, (request, call) =>
      getConfig(handler, request, call),
    ),
    listTaskPushNotificationConfigs: unary(method.listTaskPushNotificationConfigs, (request, call) =>
      listConfigs(handler, request, call),
    ),
    deleteTaskPushNotificationConfig: unary(method.deleteTaskPushNotificationConfig, async (request, call) => {
      await deleteConfig(handler, request, call);
      return {};
    }),
    getExtendedAgentCard: unary(method.getExtendedAgentCard, (_request, call) => extendedCard(options, call)),
  };
}

/** What our server adds to A2A 1.0 for messages that wait (STREAM-8). */
export function createQueueService(options: A2aServiceOptions): ServiceImpl<typeof MessageQueueService> {
  const { unary } = wrappers(options);
  return {
    withdrawMessage: unary(MessageQueueService.method.withdrawMessage, async ({ taskId, messageId }, call) => {
      const request = create(WithdrawMessageRequestSchema, { taskId, messageId });
      const { task } = await options.handler.tasks.withdrawMessage(request, call.context);
      return { task: a2aTask(create(TaskSchema, task), call, undefined) };
    }),
  };
}

type Unary<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: Call,
) => Promise<MessageInitShape<O>>;

type Streaming<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: Call,
) => AsyncIterable<MessageInitShape<O>>;

/** What all methods have in common: the call is opened before they run, and what they throw is put into gRPC's terms. */
function wrappers(options: A2aServiceOptions) {
  const { nextMessageId, errorTable = ERROR_TABLE } = options;
  const shared = oncePerEvent(responseOf);
  const unary =
    <I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>, run: Unary<I, O>) =>
    async (request: MessageShape<I>, context: HandlerContext): Promise<MessageInitShape<O>> => {
      try {
        const asked = identified(request, nextMessageId);
        return await run(asked, await openedCall(options, method, { request: asked, context, shared }));
      } catch (reason) {
        throw connectErrorOf(withFieldNames(reason, namesIn(method.input)), errorTable);
      }
    };
  const streaming = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    run: Streaming<I, O>,
  ) =>
    async function* (request: MessageShape<I>, context: HandlerContext): AsyncIterable<MessageInitShape<O>> {
      try {
        const asked = identified(request, nextMessageId);
        yield* run(asked, await openedCall(options, method, { request: asked, context, shared }));
      } catch (reason) {
        throw connectErrorOf(withFieldNames(reason, namesIn(method.input)), errorTable);
      }
    };
  return { unary, streaming };
}

/** The names that fields of our own requests have in one of A2A. Where it names a task and a config, the config is its `id`. */
function namesIn({ field, typeName }: DescMessage): Readonly<Record<string, string>> {
  switch (typeName) {
    case A2aSendMessageRequestSchema.typeName:
      return pushFieldNames("push_config", "configuration.taskPushNotificationConfig");
    case A2AService.method.createTaskPushNotificationConfig.input.typeName:
      return { ...pushFieldNames("config", ""), config_id: "id" };
    default:
      return field.taskId && field.id ? { config_id: "id" } : {};
  }
}

/** Opens a call. The card alone needs no extension. */
async function openedCall(
  { handler, extensionRequired, agents }: A2aServiceOptions,
  method: DescMethod,
  {
    request,
    context,
    shared,
  }: { readonly request: Message; readonly context: HandlerContext; readonly shared: ResponseOf },
): Promise<Call> {
  const call = openCall(method.input, request, { context, responseOf: shared, ...(agents && { agents }) });
  const isFree = method === A2AService.method.getExtendedAgentCard;
  if (extensionRequired && !isFree) await assertExtension(handler, request, call);
  return call;
}

/** A request whose message has an id, where the server may choose one. */
function identified<T extends Message>(request: T, nextMessageId: A2aServiceOptions["nextMessageId"]): T {
  if (!nextMessageId || !isMessage(request, A2aSendMessageRequestSchema)) return request;
  const { message } = request;
  if (message?.messageId !== "") return request;
  return { ...request, message: { ...message, messageId: nextMessageId() } };
}

async function cancelTask(handler: RequestHandler, taskId: string, call: Call): Promise<A2aTask> {
  try {
    const { task } = await handler.tasks.cancelTask(create(CancelTaskRequestSchema, { taskId }), call.context);
    return a2aTask(create(TaskSchema, task), call, undefined);
  } catch (reason) {
    if (!(reason instanceof DevtoolError) || reason.code !== Code.FailedPrecondition) throw reason;
    throw new A2aFailure(reason.message, "TASK_NOT_CANCELABLE", { taskId });
  }
}

async function extendedCard({ extendedCard: find }: A2aServiceOptions, { context }: Call): Promise<AgentCard> {
  if (find) return find(context);
  throw new A2aFailure("there is no extended card: the public one says everything", "UNSUPPORTED_OPERATION");
}
