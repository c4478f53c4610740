import {
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  isMessage,
  type Message,
} from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  SendMessageRequestSchema,
  StreamMessageRequestSchema,
} from "@devtool/schema";
import type { OperationEnd } from "../observer.ts";
import {
  CANCELED_OPERATION,
  type OpenOperation,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";
import { bindingKey, principalOf } from "./caller.ts";
import type { Stream, Unary } from "./intercepted-call.ts";
import { principalKey } from "./request-handler.ts";

/** Tells the observer of the calls of a method, if there is one. */
export function observedUnary<I extends DescMessage, O extends DescMessage>(
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

/** Tells the observer of the calls of a method, if there is one. */
export function observedStream<I extends DescMessage, O extends DescMessage>(
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
    kind: "request",
    name,
    binding: context.values.get(bindingKey) || context.protocolName,
    principal:
      context.values.get(principalKey) === "" ? "" : principalOf(context),
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
