import type { SecureClientSessionOptions } from "node:http2";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Recording } from "./recording.ts";

/** What a step asks of a server, in the terms of the JSON-RPC binding of its version. */
export interface Call {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Headers to add to those that a client sends; an empty value takes one away. */
  readonly headers: Readonly<Record<string, string>>;
  /** Leaves after so many frames of a stream. */
  readonly leaveAfter: number;
}

/** One frame of a stream, or the whole answer; of whatever binding, as JSON-RPC has it. */
export interface Answered {
  /** The id of the event; undefined when it has none. */
  readonly id: string | undefined;
  readonly json: JsonObject;
}

/** Something that a binding demands of every exchange, and that was not so. */
export interface Breach {
  readonly requirement: string;
  readonly reason: string;
}

/** What came back for a step. */
export interface Exchange {
  /** The status of HTTP; 200 for an error that its binding tells by the status. */
  readonly status: number;
  readonly headers: Headers;
  /** The JSON documents of the answer: one, or one for each frame of a stream. */
  readonly documents: readonly Answered[];
  /** Whether the answer is a stream that was read to its end. */
  readonly isWholeStream: boolean;
  readonly breaches: readonly Breach[];
}

/** One way to speak to a server: a version of A2A over a protocol. */
export interface Binding {
  /** As agent cards name it. */
  readonly name: BindingName;
  readonly protocolVersion: ProtocolVersion;
  /** The address that its requests go to. */
  readonly endpoint: string;
  /** Tells whether a method can be called in it. */
  has(method: string): boolean;
  /** Plays a call and takes what comes back. What a server says that is no answer at all is thrown. */
  play(call: Call, recording: Recording, signal: AbortSignal): Promise<Exchange>;
}

/** The bindings that the kit speaks, as agent cards name them. */
export type BindingName = "JSONRPC" | "HTTP+JSON" | "GRPC";

/** The versions of A2A that the kit speaks. */
export type ProtocolVersion = "0.3" | "1.0";

/** Where a server is, and how to be let in. */
export interface Endpoint {
  readonly url: string;
  /** The bearer token; none when left out. */
  readonly token: string | undefined;
  /** How its certificate is trusted. Default: by the authorities that Node knows. */
  readonly trust?: ServerTrust;
}

/** How a client trusts a server's certificate. */
export interface ServerTrust {
  readonly fetch: typeof globalThis.fetch;
  /** Options of Node's TLS, for gRPC. */
  readonly nodeOptions: SecureClientSessionOptions;
}

/** A result as JSON-RPC has it, whatever the binding that it came over. */
export function resultDocument(result: JsonValue): JsonObject {
  return { jsonrpc: "2.0", result };
}

/** An error as JSON-RPC has it, whatever the binding that it came over. */
export function errorDocument(code: number, message: string, data: JsonValue | undefined): JsonObject {
  return { jsonrpc: "2.0", error: { code, message, ...(data !== undefined && { data }) } };
}
