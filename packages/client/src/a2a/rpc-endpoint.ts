import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Where the methods of an agent are called by their names in JSON-RPC, whichever binding carries them. What it throws is a `ConnectError`. */
export interface RpcEndpoint {
  /** Calls a method that answers once. */
  call(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonValue>;
  /** Calls a method that streams. */
  stream(call: StreamCall, signal: AbortSignal): AsyncIterable<Frame>;
}

/** How to call a method that streams. */
export interface StreamCall {
  readonly method: string;
  readonly params: JsonObject;
  /** The last event that is known; undefined for a stream that has none before it. */
  readonly lastEventId?: bigint | undefined;
}

/** One frame of a stream. */
export interface Frame {
  readonly result: JsonValue;
  /** The id of the event; undefined when the server gives none. */
  readonly id: string | undefined;
}
