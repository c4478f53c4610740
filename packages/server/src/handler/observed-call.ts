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

/** Whether the observer hears of a call of the context. */
const heardKey: ContextKey<boolean> = createContextKey(false, {
  description: "observed",
});

/** Whether a request has reached a method, so that the observer hears of it. */
export function hasReachedMethod(values: ContextValues): boolean {
  return values.get(heardKey);
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

  async *through<T>(items: AsyncIterable<T>): AsyncIterable<T> {
    try {
      yield* items;
      this.succeed();
    } catch (reason) {
      this.fail(reason);
      throw reason;
    } finally {
      // The client has left the stream.
      this.begin({}).finish(CANCELED_OPERATION);
    }
  }
}

const UNOBSERVED: ObservedRequest = {
  succeed: () => undefined,
  fail: () => undefined,
  through: (items) => items,
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
      call.finish({ ...SUCCEEDED, facts: answerFacts(response) });
      return response;
    } catch (reason) {
      call.finish(failureOf(reason, context));
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
  return async function* observed(request, context) {
    const call = new ObservedCall(operations, method.name, request, context);
    let last: Message | undefined;
    try {
      for await (const response of answer(request, context)) {
        last = response;
        yield response;
      }
      call.finish({ ...SUCCEEDED, facts: lastFacts(last) });
    } catch (reason) {
      call.finish({ ...failureOf(reason, context), facts: lastFacts(last) });
      throw reason;
    } finally {
      // The client has left the stream.
      call.finish({ ...CANCELED_OPERATION, facts: lastFacts(last) });
    }
  };
}

/**
 * A call of a method: a part of a request of a dialect, or else a request of
 * its own.
 */
class ObservedCall {
  readonly #operation: OpenOperation;
  readonly #isPart: boolean;
  readonly #brought: Disposable;

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
    this.#isPart = outer !== undefined;
    this.#operation =
      outer?.begin(asked) ?? begin(operations, name, context, asked);
    // A request reads its task before it sends to it.
    if (outer && subjectId !== "") {
      this.#operation.note({ messageId: subjectId });
    }
    this.#brought = operations.bring(this.#operation.id, {
      principal: principalIn(context),
      subjectId,
    });
  }

  finish(end: OperationEnd): void {
    this.#brought[Symbol.dispose]();
    if (!this.#isPart) this.#operation.finish(end);
    else if (end.facts) this.#operation.note(end.facts);
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
  context.values.set(heardKey, true);
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

/** Returns what the last message of a stream says about its task. */
function lastFacts(last: object = {}): OperationFacts {
  if (!("event" in last) || !isObject(last.event)) return {};
  return taskFacts(last.event.taskId, last.event);
}

function failureOf(error: unknown, { signal }: HandlerContext): OperationEnd {
  return signal.aborted ? CANCELED_OPERATION : { outcome: "failed", error };
}
