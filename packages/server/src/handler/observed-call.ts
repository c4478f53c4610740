import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  isMessage,
  type Message,
} from "@bufbuild/protobuf";
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  type HandlerContext,
} from "@connectrpc/connect";
import { isObject } from "@devtool/internal/json";
import { readTraceContext } from "@devtool/internal/trace-parent";
import {
  SendMessageRequestSchema,
  StreamMessageRequestSchema,
  type TaskEvent,
  type TraceContext,
  TraceContextSchema,
} from "@devtool/schema";
import type { Operation, OperationEnd, OperationFacts } from "../observer.ts";
import {
  CANCELED_OPERATION,
  type OpenOperation,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";
import { addressedAgent } from "./addressed-agent.ts";
import { ANONYMOUS, bindingKey, principalOf } from "./caller.ts";
import type { Stream, Unary } from "./intercepted-call.ts";
import { type ObservedRequest, principalKey } from "./request-handler.ts";

/** The request of a dialect that the calls of a context belong to. */
const requestKey: ContextKey<DialectRequest | undefined> = createContextKey<
  DialectRequest | undefined
>(undefined, { description: "observed request" });

/** The trace that messages of a context are in. */
const traceKey: ContextKey<TraceContext | undefined> = createContextKey(
  undefined,
  { description: "trace context" },
);

/** The operation that the calls of a context are, or are parts of. */
const operationKey: ContextKey<OpenOperation | undefined> = createContextKey<
  OpenOperation | undefined
>(undefined, { description: "operation" });

/** Whether a request has reached a method, so that the observer hears of it. */
export function hasReachedMethod(values: ContextValues): boolean {
  return values.get(operationKey) !== undefined;
}

/**
 * Returns the place of a request in a trace, for the message that it brings;
 * undefined when the server records no traces.
 */
export function traceContextOf({
  values,
}: HandlerContext): TraceContext | undefined {
  return values.get(traceKey);
}

/**
 * Tells the observer of a request of a dialect, if there is one. The calls of
 * the handler in its context are parts of it.
 */
export function observeRequest(
  operations: Operations | undefined,
  name: string,
  context: HandlerContext,
): ObservedRequest {
  if (!operations) return UNOBSERVED;
  const request = new DialectRequest(operations, name, context);
  context.values.set(requestKey, request);
  return request;
}

/**
 * A request of a dialect. It begins with its first call of the handler, which
 * shows what it is about, or else when it ends.
 */
class DialectRequest implements ObservedRequest {
  readonly #operations: Operations;
  readonly #name: string;
  readonly #context: HandlerContext;
  #operation: OpenOperation | undefined;

  constructor(operations: Operations, name: string, context: HandlerContext) {
    this.#operations = operations;
    this.#name = name;
    this.#context = context;
  }

  /** Returns the operation, which begins if it has not. */
  begin(asked: Asked): OpenOperation {
    this.#operation ??= begin(
      this.#operations,
      this.#name,
      this.#context,
      asked,
    );
    return this.#operation;
  }

  succeed(): void {
    this.begin({}).finish(SUCCEEDED);
  }

  fail(reason: unknown): void {
    this.begin({}).finish(failureOf(reason, this.#context));
  }

  leave(): void {
    this.begin({}).finish(CANCELED_OPERATION);
  }
}

const UNOBSERVED: ObservedRequest = {
  succeed: () => undefined,
  fail: () => undefined,
  leave: () => undefined,
};

/** Tells the observer of the calls of a method, if there is one. */
export function observedUnary<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  answer: Unary<I, O>,
  operations: Operations | undefined,
): Unary<I, O> {
  if (!operations) return answer;
  return async (request, context) => {
    const call = new ObservedCall(operations, method.name, request, context);
    try {
      const response = await answer(request, context);
      call.succeed(answerFacts(response));
      return response;
    } catch (reason) {
      call.fail(reason);
      throw reason;
    }
  };
}

/** Tells the observer of the calls of a method, if there is one. */
export function observedStream<I extends DescMessage, O extends DescMessage>(
  method: DescMethodServerStreaming<I, O>,
  answer: Stream<I, O>,
  operations: Operations | undefined,
): Stream<I, O> {
  if (!operations) return answer;
  const callOf = (request: Message, context: HandlerContext): ObservedCall =>
    new ObservedCall(operations, method.name, request, context);
  // Begins when it is read: a stream that nobody reads has no end.
  async function* observed(
    request: Parameters<typeof answer>[0],
    context: HandlerContext,
  ) {
    const call = callOf(request, context);
    yield* call.through(() => answer(request, context));
  }
  return (request, context) => {
    if (!context.values.get(requestKey)) return observed(request, context);
    // Each layer around a stream costs all of its events.
    callOf(request, context);
    return answer(request, context);
  };
}

/**
 * Notes the event that a stream of a call had last, for the observer; undefined
 * for none.
 */
export function noteLast(
  { values }: HandlerContext,
  event: TaskEvent | undefined,
): void {
  if (event) values.get(operationKey)?.note(taskFacts(event.taskId, event));
}

/**
 * A call of a method: a part of a request of a dialect, or else a request of
 * its own.
 */
class ObservedCall {
  readonly isPart: boolean;
  readonly #operation: OpenOperation;
  readonly #context: HandlerContext;

  constructor(
    operations: Operations,
    name: string,
    request: Message,
    context: HandlerContext,
  ) {
    const sent = isMessage(request, StreamMessageRequestSchema)
      ? request.request
      : request;
    const subjectId =
      (isMessage(sent, SendMessageRequestSchema) && sent.message?.messageId) ||
      "";
    const taskId = taskIdOf(sent);
    const outer = context.values.get(requestKey);
    const asked = { taskId, subjectId };
    this.isPart = outer !== undefined;
    this.#context = context;
    this.#operation =
      outer?.begin(asked) ?? begin(operations, name, context, asked);
    if (subjectId === "") return;
    this.#operation.bring({ principal: principalIn(context), subjectId });
    // A request reads its task before it sends to it.
    if (outer) this.#operation.note({ messageId: subjectId });
  }

  succeed(facts: OperationFacts): void {
    this.#operation.note(facts);
    if (!this.isPart) this.#operation.finish(SUCCEEDED);
  }

  fail(reason: unknown): void {
    if (this.isPart) return;
    this.#operation.finish(failureOf(reason, this.#context));
  }

  /** Yields the items of a stream, and tells of its end. */
  async *through<T>(open: () => AsyncIterable<T>): AsyncIterable<T> {
    try {
      yield* open();
      this.#operation.finish(SUCCEEDED);
    } catch (reason) {
      this.fail(reason);
      throw reason;
    } finally {
      // The client has left the stream.
      this.#operation.finish(CANCELED_OPERATION);
    }
  }
}

/** What of a request is known when it begins. */
type Asked = Partial<Pick<Operation, "taskId" | "subjectId">>;

function begin(
  operations: Operations,
  name: string,
  context: HandlerContext,
  asked: Asked,
): OpenOperation {
  const sent = sentTrace(context);
  const isKnown = isKnownCaller(context);
  const operation = operations.begin({
    kind: "request",
    name,
    binding: context.values.get(bindingKey) || context.protocolName,
    principal: principalIn(context),
    ...asked,
    agent: addressedAgent(context) || operations.defaultAgent,
    // Strangers must not decide what is sampled.
    ...(isKnown ? { traceContext: sent } : { links: sent ? [sent] : [] }),
  });
  context.values.set(traceKey, operation.traceContext);
  context.values.set(operationKey, operation);
  return operation;
}

/** Returns the place in a trace that a client has sent, over each protocol. */
function sentTrace({
  requestHeader,
}: HandlerContext): TraceContext | undefined {
  const sent = readTraceContext(
    requestHeader.get("traceparent"),
    requestHeader.get("tracestate"),
  );
  return sent && create(TraceContextSchema, sent);
}

function isKnownCaller({ values }: HandlerContext): boolean {
  const caller = values.get(principalKey);
  return caller !== "" && caller !== ANONYMOUS.principal;
}

function principalIn(context: HandlerContext): string {
  return context.values.get(principalKey) === "" ? "" : principalOf(context);
}

function taskIdOf(request: object = {}): string {
  return "taskId" in request && typeof request.taskId === "string"
    ? request.taskId
    : "";
}

/** Returns what an answer or an event says about its task. */
function taskFacts(
  taskId: unknown,
  { contextId, state }: { contextId?: unknown; state?: unknown },
): OperationFacts {
  return typeof taskId === "string" &&
    typeof contextId === "string" &&
    typeof state === "number"
    ? { taskId, contextId, state }
    : {};
}

/** Returns what an answer says about its task. */
function answerFacts(response: object): OperationFacts {
  if (!("task" in response) || !isObject(response.task)) return {};
  return taskFacts(response.task.id, response.task);
}

function failureOf(error: unknown, { signal }: HandlerContext): OperationEnd {
  return signal.aborted ? CANCELED_OPERATION : { outcome: "failed", error };
}
