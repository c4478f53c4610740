import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  JsonValue,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import {
  decodeA2aJson,
  type StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import type { Frame } from "../a2a/rpc-endpoint.ts";
import { decodeAnswer } from "../a2a/wire.ts";

/**
 * A binding of A2A 1.0: it carries the methods of `A2AService` over one
 * protocol, and returns what the agent answers as the JSON of its message, which
 * need not be valid. Both methods throw `ConnectError`s.
 */
export interface A2aBinding {
  /**
   * Calls a method that returns one message.
   */
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
  ): Promise<JsonValue>;
  /**
   * Calls a method that streams. The result of a frame is a `StreamResponse`.
   */
  stream<I extends DescMessage>(
    method: DescMethodServerStreaming<I, typeof StreamResponseSchema>,
    call: A2aStreamCall<I>,
    signal: AbortSignal,
  ): AsyncIterable<Frame>;
}

/**
 * A call of a method that streams.
 */
export interface A2aStreamCall<I extends DescMessage> {
  readonly request: MessageInitShape<I>;
  /**
   * Sent as `Last-Event-ID`: the stream continues after this event. Undefined
   * starts a new stream.
   */
  readonly lastEventId?: string | undefined;
}

/**
 * Calls a method whose answer must be valid as a whole. Throws `Code.DataLoss`
 * if it is not.
 */
export async function callStrictly<
  I extends DescMessage,
  O extends DescMessage,
>(
  binding: A2aBinding,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  signal: AbortSignal,
): Promise<MessageShape<O>> {
  const json = await binding.call(method, request, signal);
  return decodeAnswer(() => decodeA2aJson(method.output, json ?? {}));
}
