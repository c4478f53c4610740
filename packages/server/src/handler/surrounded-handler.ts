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
import type { HandlerContext, Interceptor } from "@connectrpc/connect";
import {
  AgentListService,
  AuditService,
  PushService,
  SendMessageRequestSchema,
  SlashCommandService,
  StreamMessageRequestSchema,
  TaskService,
  WorkspaceService,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import type { OperationEnd } from "../observer.ts";
import {
  CANCELED_OPERATION,
  type OpenOperation,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";
import { principalKey, type RequestHandler } from "./request-handler.ts";

/** What surrounds each method of a handler. */
export interface Around {
  readonly interceptors: readonly Interceptor[];
  /** What the server's observer hears. */
  readonly operations: Operations | undefined;
}

/**
 * Surrounds each method of a handler with interceptors, and tells the observer
 * of it. Without both, the methods stay as they are.
 */
export function surroundedHandler(
  handler: RequestHandler,
  around: Around,
): RequestHandler {
  const { interceptors, operations } = around;
  if (interceptors.length === 0 && !operations) return handler;
  const { tasks, commands, push, audit, agents, workspaces } = handler;
  const one = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    answer: Unary<I, O>,
  ) =>
    observedUnary(
      method,
      interceptedUnary(method, answer, interceptors),
      operations,
    );
  const many = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    answer: Stream<I, O>,
  ) =>
    observedStream(
      method,
      interceptedStream(method, answer, interceptors),
      operations,
    );
  const { method: task } = TaskService;
  return {
    ...handler,
    tasks: {
      sendMessage: one(task.sendMessage, tasks.sendMessage),
      streamMessage: many(task.streamMessage, tasks.streamMessage),
      getTask: one(task.getTask, tasks.getTask),
      listTasks: one(task.listTasks, tasks.listTasks),
      cancelTask: one(task.cancelTask, tasks.cancelTask),
      withdrawMessage: one(task.withdrawMessage, tasks.withdrawMessage),
      renameTask: one(task.renameTask, tasks.renameTask),
      subscribeTask: many(task.subscribeTask, tasks.subscribeTask),
      watchTasks: many(task.watchTasks, tasks.watchTasks),
    },
    commands: {
      getAllSlashCommands: one(
        SlashCommandService.method.getAllSlashCommands,
        commands.getAllSlashCommands,
      ),
      runSlashCommand: one(
        SlashCommandService.method.runSlashCommand,
        commands.runSlashCommand,
      ),
    },
    push: {
      setPushConfig: one(PushService.method.setPushConfig, push.setPushConfig),
      getPushConfig: one(PushService.method.getPushConfig, push.getPushConfig),
      listPushConfigs: one(
        PushService.method.listPushConfigs,
        push.listPushConfigs,
      ),
      deletePushConfig: one(
        PushService.method.deletePushConfig,
        push.deletePushConfig,
      ),
    },
    audit: { readAudit: many(AuditService.method.readAudit, audit.readAudit) },
    agents: {
      listAgents: one(AgentListService.method.listAgents, agents.listAgents),
      listModels: one(AgentListService.method.listModels, agents.listModels),
    },
    workspaces: {
      listCheckpoints: one(
        WorkspaceService.method.listCheckpoints,
        workspaces.listCheckpoints,
      ),
      getWorkspaceSettings: one(
        WorkspaceService.method.getWorkspaceSettings,
        workspaces.getWorkspaceSettings,
      ),
    },
  };
}

type Unary<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  context: HandlerContext,
) => MessageInitShape<O> | Promise<MessageInitShape<O>>;

type Stream<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  context: HandlerContext,
) => AsyncIterable<MessageInitShape<O>>;

function observedUnary<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  answer: Unary<I, O>,
  operations: Operations | undefined,
): Unary<I, O> {
  if (!operations) return answer;
  return async (request, context) => {
    const operation = begin(operations, method.name, request, context);
    try {
      const response = await answer(request, context);
      operation.finish(SUCCEEDED);
      return response;
    } catch (reason) {
      operation.finish(failureOf(reason, context));
      throw reason;
    }
  };
}

function observedStream<I extends DescMessage, O extends DescMessage>(
  method: DescMethodServerStreaming<I, O>,
  answer: Stream<I, O>,
  operations: Operations | undefined,
): Stream<I, O> {
  if (!operations) return answer;
  return async function* observed(request, context) {
    const operation = begin(operations, method.name, request, context);
    try {
      yield* answer(request, context);
      operation.finish(SUCCEEDED);
    } catch (reason) {
      operation.finish(failureOf(reason, context));
      throw reason;
    } finally {
      // The client has left the stream.
      operation.finish(CANCELED_OPERATION);
    }
  };
}

function begin(
  operations: Operations,
  name: string,
  request: Message,
  context: HandlerContext,
): OpenOperation {
  const sent = isMessage(request, StreamMessageRequestSchema)
    ? request.request
    : request;
  const message = isMessage(sent, SendMessageRequestSchema)
    ? sent.message
    : undefined;
  return operations.begin({
    parentId: "",
    kind: "request",
    name,
    principal: context.values.get(principalKey),
    taskId: taskIdOf(sent),
    subjectId: message?.messageId ?? "",
  });
}

function taskIdOf(request: object = {}): string {
  return "taskId" in request && typeof request.taskId === "string"
    ? request.taskId
    : "";
}

function failureOf(error: unknown, { signal }: HandlerContext): OperationEnd {
  return signal.aborted ? CANCELED_OPERATION : { outcome: "failed", error };
}

/** A method that interceptors surround, of whichever service. */
type Call = ReturnType<Interceptor>;

/** Puts interceptors around a method, the first one outermost. */
function surround(interceptors: readonly Interceptor[], method: Call): Call {
  return interceptors.reduceRight((next, intercept) => intercept(next), method);
}

function interceptedUnary<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  answer: Unary<I, O>,
  interceptors: readonly Interceptor[],
): Unary<I, O> {
  if (interceptors.length === 0) return answer;
  return async (request, context) => {
    const call = surround(interceptors, async ({ message }) => ({
      ...responseOf(context),
      stream: false,
      method,
      message: create(
        method.output,
        await answer(asMessage(message, method.input), context),
      ),
    }));
    const { message } = await call({
      ...requestOf(context),
      stream: false,
      method,
      message: request,
    });
    return asMessage(message, method.output);
  };
}

function interceptedStream<I extends DescMessage, O extends DescMessage>(
  method: DescMethodServerStreaming<I, O>,
  answer: Stream<I, O>,
  interceptors: readonly Interceptor[],
): Stream<I, O> {
  if (interceptors.length === 0) return answer;
  return async function* intercepted(request, context) {
    const call = surround(interceptors, async ({ message: sent }) => ({
      ...responseOf(context),
      stream: true,
      method,
      message: answers(method, answer, asStream(sent, method.input), context),
    }));
    const { message } = await call({
      ...requestOf(context),
      stream: true,
      method,
      message: only(request),
    });
    yield* asStream(message, method.output);
  };
}

async function* only<T>(value: T): AsyncIterable<T> {
  yield value;
}

/** Yields the answers to the one message of a request. */
async function* answers<I extends DescMessage, O extends DescMessage>(
  { output }: DescMethodServerStreaming<I, O>,
  answer: Stream<I, O>,
  requests: AsyncIterable<MessageShape<I>>,
  context: HandlerContext,
): AsyncIterable<MessageShape<O>> {
  for await (const request of requests) {
    for await (const each of answer(request, context)) {
      yield create(output, each);
    }
    return;
  }
}

function requestOf(context: HandlerContext) {
  const { service, requestMethod, url, signal } = context;
  const { requestHeader: header, values: contextValues } = context;
  return { service, requestMethod, url, signal, header, contextValues };
}

function responseOf(context: HandlerContext) {
  const { service, responseHeader: header, responseTrailer: trailer } = context;
  return { service, header, trailer };
}

/** Returns what an interceptor has passed on, if it fits the method. */
function asMessage<Desc extends DescMessage>(
  passed: Message | AsyncIterable<Message>,
  desc: Desc,
): MessageShape<Desc> {
  if (isMessage(passed, desc)) return passed;
  throw new DevtoolError(
    `an interceptor passed on something else than a ${desc.typeName}`,
    Code.Internal,
  );
}

async function* asStream<Desc extends DescMessage>(
  passed: Message | AsyncIterable<Message>,
  desc: Desc,
): AsyncIterable<MessageShape<Desc>> {
  if (isMessage(passed)) return yield asMessage(passed, desc);
  for await (const each of passed) yield asMessage(each, desc);
}
