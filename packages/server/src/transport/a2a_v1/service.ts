import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { CancelTaskRequestSchema, TaskSchema } from "@devtool/schema";
import { A2AService, A2aSendMessageRequestSchema, type A2aTask, type AgentCard } from "@devtool/schema/a2a-v1";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { type Call, openCall } from "./call.ts";
import { A2aFailure, connectErrorOf, ERROR_TABLE } from "./errors.ts";
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

type Unary<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: Call,
) => Promise<MessageInitShape<O>>;

type Streaming<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: Call,
) => AsyncIterable<MessageInitShape<O>>;

/** What all methods have in common: the call is opened before they run, and what they throw is put into gRPC's terms. */
function wrappers({ extensionRequired, nextMessageId, errorTable = ERROR_TABLE }: A2aServiceOptions) {
  const unary =
    <I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>, run: Unary<I, O>) =>
    async (request: MessageShape<I>, context: HandlerContext): Promise<MessageInitShape<O>> => {
      try {
        const asked = identified(request, nextMessageId);
        return await run(asked, openCall(method.input, asked, { context, extensionRequired }));
      } catch (reason) {
        throw connectErrorOf(reason, errorTable);
      }
    };
  const streaming = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    run: Streaming<I, O>,
  ) =>
    async function* (request: MessageShape<I>, context: HandlerContext): AsyncIterable<MessageInitShape<O>> {
      try {
        const asked = identified(request, nextMessageId);
        yield* run(asked, openCall(method.input, asked, { context, extensionRequired }));
      } catch (reason) {
        throw connectErrorOf(reason, errorTable);
      }
    };
  return { unary, streaming };
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
