import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type {
  StreamResponse,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";

/**
 * A binding of A2A 1.0: it carries the methods of `A2AService` over one
 * protocol. Both methods throw `ConnectError`s.
 */
export interface A2aBinding {
  /**
   * Calls a method that returns one message.
   */
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
  ): Promise<MessageShape<O>>;
  /**
   * Calls a method that streams.
   */
  stream<I extends DescMessage>(
    method: DescMethodServerStreaming<I, typeof StreamResponseSchema>,
    call: A2aStreamCall<I>,
    signal: AbortSignal,
  ): AsyncIterable<StreamElement>;
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
  readonly lastEventId?: bigint;
}

/**
 * One element of a stream.
 */
export interface StreamElement {
  readonly response: StreamResponse;
  /**
   * The event id beside the element. Undefined if the agent or the binding has
   * none.
   */
  readonly id: string | undefined;
}
