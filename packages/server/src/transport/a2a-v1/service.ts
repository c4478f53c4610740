import {
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type {
  ConnectError,
  HandlerContext,
  ServiceImpl,
} from "@connectrpc/connect";
import { emptyTask } from "@devtool/schema";
import {
  A2AService,
  A2aSendMessageRequestSchema,
  type A2aTask,
  MessageQueueService,
} from "@devtool/schema/a2a-v1";
import { neededMessages } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError, withFieldNames } from "../../errors.ts";
import { callKeys } from "../../handler/caller.ts";
import {
  findTask,
  type RequestHandler,
} from "../../handler/request-handler.ts";
import { oncePerView } from "../a2a/once-per-view.ts";
import { pushFieldNames } from "../a2a/push-fields.ts";
import { type A2aV1Call, assertExtension, openCall } from "./call.ts";
import { ERROR_TABLE } from "./error-table.ts";
import { A2aFailure, connectErrorFrom } from "./errors.ts";
import { streamResponseFor, withSequence } from "./frames.ts";
import { sendMessage, streamMessage, subscribe, taskFor } from "./messages.ts";
import { JSON_PROTOCOL } from "./operation.ts";
import type { A2aServiceOptions } from "./options.ts";
import {
  createConfig,
  deleteConfig,
  getConfig,
  listConfigs,
} from "./push-configs.ts";
import { assertHistoryLength } from "./sending.ts";
import { listTasks } from "./task-list.ts";

/**
 * Implements A2A 1.0 in terms of our own services, for all its bindings.
 *
 * Its methods throw `ConnectError`s.
 */
export function createA2aService(
  options: A2aServiceOptions,
): ServiceImpl<typeof A2AService> {
  const { handler } = options;
  const { method } = A2AService;
  const { unary, streaming } = wrappers(options);
  return {
    sendMessage: unary(method.sendMessage, (request, call) =>
      sendMessage(options, request, call),
    ),
    sendStreamingMessage: streaming(
      method.sendStreamingMessage,
      (request, call) => streamMessage(options, request, call),
    ),
    getTask: unary(method.getTask, async ({ id, historyLength }, call) => {
      assertHistoryLength(historyLength, "historyLength");
      const task = await findTask(handler, call, id, (current) =>
        neededMessages(current, { historyLength }),
      );
      return taskFor(call, task, { historyLength });
    }),
    listTasks: unary(method.listTasks, (request, call) =>
      listTasks(handler, request, call),
    ),
    cancelTask: unary(method.cancelTask, ({ id }, call) =>
      cancelTask(handler, id, call),
    ),
    subscribeToTask: streaming(method.subscribeToTask, ({ id }, call) =>
      subscribe(handler, id, call),
    ),
    createTaskPushNotificationConfig: unary(
      method.createTaskPushNotificationConfig,
      (request, call) => createConfig(handler, request, call),
    ),
    getTaskPushNotificationConfig: unary(
      method.getTaskPushNotificationConfig,
      (request, call) => getConfig(handler, request, call),
    ),
    listTaskPushNotificationConfigs: unary(
      method.listTaskPushNotificationConfigs,
      (request, call) => listConfigs(handler, request, call),
    ),
    deleteTaskPushNotificationConfig: unary(
      method.deleteTaskPushNotificationConfig,
      async (request, call) => {
        await deleteConfig(handler, request, call);
        return {};
      },
    ),
    getExtendedAgentCard: unary(
      method.getExtendedAgentCard,
      async (_request, call) => {
        if (options.extendedCard) return options.extendedCard(call);
        throw new A2aFailure(
          "there is no extended card: the public one says everything",
          "UNSUPPORTED_OPERATION",
        );
      },
    ),
  };
}

/** Implements our addition to A2A 1.0 for queued messages (STREAM-8). */
export function createQueueService(
  options: A2aServiceOptions,
): ServiceImpl<typeof MessageQueueService> {
  const { unary } = wrappers(options);
  return {
    withdrawMessage: unary(
      MessageQueueService.method.withdrawMessage,
      async ({ taskId, messageId }, call) => {
        const { task = emptyTask() } =
          await options.handler.tasks.withdrawMessage(
            { taskId, messageId },
            call.context,
          );
        return { task: taskFor(call, task) };
      },
    ),
  };
}

type Unary<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: A2aV1Call,
) => Promise<MessageInitShape<O>>;

type Streaming<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: A2aV1Call,
) => AsyncIterable<MessageInitShape<O>>;

/**
 * Returns the wrappers of all methods.
 *
 * Each opens the call before the method runs, and turns what the method throws
 * into an error of gRPC.
 */
function wrappers(options: A2aServiceOptions) {
  const {
    handler,
    extensionRequired,
    agents,
    nextMessageId,
    errorTable = ERROR_TABLE,
  } = options;
  const responseFor = oncePerView(streamResponseFor);
  const open = async (
    method: DescMethod,
    request: Message,
    context: HandlerContext,
  ): Promise<A2aV1Call> => {
    const call = openCall(method.input, request, {
      context,
      agents,
      responseFor,
    });
    // The card needs no extension: from it, clients learn that the extension is
    // required.
    const isCard = method === A2AService.method.getExtendedAgentCard;
    if (extensionRequired && !isCard) {
      await assertExtension(handler, request, call);
    }
    return call;
  };
  const observe = ({ name }: DescMethod, context: HandlerContext) => {
    const { values, protocolName } = context;
    // Routes have named theirs: this is a call of gRPC or Connect.
    if (values.get(callKeys.binding) === "") {
      values.set(callKeys.binding, `a2a-1.0/${protocolName}`);
    }
    return handler.observe(name, context);
  };
  const translate = (reason: unknown, { input }: DescMethod): ConnectError =>
    connectErrorFrom(withFieldNames(reason, fieldNamesOf(input)), errorTable);
  const unary =
    <I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      run: Unary<I, O>,
    ) =>
    async (
      request: MessageShape<I>,
      context: HandlerContext,
    ): Promise<MessageInitShape<O>> => {
      const observed = observe(method, context);
      try {
        const asked = withMessageId(request, nextMessageId);
        const answer = await run(asked, await open(method, asked, context));
        observed.succeed();
        return answer;
      } catch (reason) {
        observed.fail(reason);
        throw translate(reason, method);
      }
    };
  const streaming = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    run: Streaming<I, O>,
  ) =>
    async function* (
      request: MessageShape<I>,
      context: HandlerContext,
    ): AsyncIterable<MessageInitShape<O>> {
      const observed = observe(method, context);
      try {
        const asked = withMessageId(request, nextMessageId);
        const call = await open(method, asked, context);
        const responses = run(asked, call);
        // JSON bindings write the sequence as the id of a server-sent event.
        // gRPC has no such place, so it is in the metadata.
        if (context.protocolName === JSON_PROTOCOL) {
          yield* responses;
        } else {
          for await (const response of responses) yield withSequence(response);
        }
        observed.succeed();
      } catch (reason) {
        observed.fail(reason);
        throw translate(reason, method);
      } finally {
        observed.leave();
      }
    };
  return { unary, streaming };
}

/**
 * Maps the field names of our own requests to those of a request of A2A, for
 * errors about a field.
 *
 * In a request with both `task_id` and `id`, `id` is the config.
 */
function fieldNamesOf({
  field,
  typeName,
}: DescMessage): Readonly<Record<string, string>> {
  switch (typeName) {
    case A2aSendMessageRequestSchema.typeName:
      return pushFieldNames(
        "push_config",
        "configuration.taskPushNotificationConfig",
      );
    case A2AService.method.createTaskPushNotificationConfig.input.typeName:
      return { ...pushFieldNames("config", ""), config_id: "id" };
    default:
      return field.taskId && field.id ? { config_id: "id" } : {};
  }
}

/**
 * Returns a request whose message has an id: a new one if it has none and the
 * server may choose.
 *
 * Returns any other request unchanged.
 */
function withMessageId<T extends Message>(
  request: T,
  nextMessageId: A2aServiceOptions["nextMessageId"],
): T {
  if (!nextMessageId || !isMessage(request, A2aSendMessageRequestSchema)) {
    return request;
  }
  const { message } = request;
  if (message?.messageId !== "") return request;
  return { ...request, message: { ...message, messageId: nextMessageId() } };
}

async function cancelTask(
  handler: RequestHandler,
  taskId: string,
  call: A2aV1Call,
): Promise<A2aTask> {
  try {
    const { task = emptyTask() } = await handler.tasks.cancelTask(
      { taskId },
      call.context,
    );
    return taskFor(call, task);
  } catch (reason) {
    const { code, message } = DevtoolError.from(reason);
    if (code !== Code.FailedPrecondition) throw reason;
    throw new A2aFailure(message, "TASK_NOT_CANCELABLE", { taskId });
  }
}
