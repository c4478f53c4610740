import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/**
 * An agent whose methods are called by their JSON-RPC names, whichever binding
 * carries them. Both methods throw `ConnectError`s.
 */
export interface RpcEndpoint {
  /**
   * Calls a method that returns one result.
   */
  call(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue>;
  /**
   * Calls a method that streams.
   */
  stream(call: StreamCall, signal: AbortSignal): AsyncIterable<Frame>;
}

/**
 * A call of a method that streams.
 */
export interface StreamCall {
  readonly method: string;
  readonly params: JsonObject;
  /**
   * Sent as `Last-Event-ID`: the stream continues after this event. Undefined
   * starts a new stream.
   */
  readonly lastEventId?: string | undefined;
}

/**
 * The content of an answer, in the JSON of 0.3.
 */
export interface Answer {
  /**
   * Undefined if nothing of it can be read.
   */
  readonly result: JsonValue | undefined;
  /**
   * What cannot be read and was left out, a sentence for each element. Absent
   * if nothing was.
   */
  readonly leftOut?: readonly string[] | undefined;
  /**
   * What to tell the user about the answer. Absent for nothing.
   */
  readonly doubt?: string | undefined;
}

/**
 * One frame of a stream.
 */
export interface Frame extends Answer {
  /**
   * The event id beside the frame. Undefined if the agent sends none.
   */
  readonly id: string | undefined;
}
