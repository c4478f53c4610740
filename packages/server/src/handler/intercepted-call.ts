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
import { Code, DevtoolError } from "../errors.ts";

/** The implementation of a method with one answer. */
export type Unary<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  context: HandlerContext,
) => MessageInitShape<O> | Promise<MessageInitShape<O>>;

/** The implementation of a method whose answer is a stream. Its messages are whole. */
export type Stream<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  context: HandlerContext,
) => AsyncIterable<MessageShape<O>>;

/** A method that interceptors surround, of whichever service. */
type Call = ReturnType<Interceptor>;

/** Puts interceptors around a method, the first one outermost. */
function surround(interceptors: readonly Interceptor[], method: Call): Call {
  return interceptors.reduceRight((next, intercept) => intercept(next), method);
}

/** Surrounds a method with interceptors, if there are any. */
export function interceptedUnary<I extends DescMessage, O extends DescMessage>(
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

/** Surrounds a method with interceptors, if there are any. */
export function interceptedStream<I extends DescMessage, O extends DescMessage>(
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
      message: answers(answer, asStream(sent, method.input), context),
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
  answer: Stream<I, O>,
  requests: AsyncIterable<MessageShape<I>>,
  context: HandlerContext,
): AsyncIterable<MessageShape<O>> {
  for await (const request of requests) return yield* answer(request, context);
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
