import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { StreamResponse, StreamResponseSchema } from "@devtool/schema/a2a-v1";

/** One element of a stream. */
export interface Element {
  readonly response: StreamResponse;
  /** The id of the event; undefined where the server or the binding gives none. */
  readonly id: string | undefined;
}

/** How to call a method that streams. */
export interface StreamCall<I extends DescMessage> {
  readonly request: MessageInitShape<I>;
  /** The last event that is known; undefined for a stream that has none before it. */
  readonly lastEventId?: bigint;
}

/** A binding of A2A 1.0: carries the methods of its service. What it throws is a `ConnectError`. */
export interface A2aBinding {
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
  ): Promise<MessageShape<O>>;
  stream<I extends DescMessage>(
    method: DescMethodServerStreaming<I, typeof StreamResponseSchema>,
    call: StreamCall<I>,
    signal: AbortSignal,
  ): AsyncIterable<Element>;
}
