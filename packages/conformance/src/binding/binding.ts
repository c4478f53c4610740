import type { SecureClientSessionOptions } from "node:http2";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import type { Recording } from "./recording.ts";

/**
 * A version of A2A that the kit supports.
 */
export type ProtocolVersion = "0.3" | "1.0";

/**
 * A binding that the kit supports, by its name in agent cards.
 */
export type BindingName = "JSONRPC" | "HTTP+JSON" | "GRPC";

/**
 * The interface of a server that is tested.
 */
export interface Endpoint {
  readonly url: string;
  /**
   * The bearer token to send. Undefined sends none.
   */
  readonly token: string | undefined;
  /**
   * How the server's certificate is verified.
   *
   * Default: with the certificate authorities that Node trusts.
   */
  readonly trust?: ServerTrust | undefined;
}

/**
 * How a server's certificate is verified.
 */
export interface ServerTrust {
  /**
   * Makes the HTTP requests.
   */
  readonly fetch: typeof globalThis.fetch;
  /**
   * TLS options of Node, for gRPC.
   */
  readonly nodeOptions: SecureClientSessionOptions;
}

/**
 * A way to call a server: one version of A2A over one protocol.
 */
export interface Binding {
  readonly name: BindingName;
  readonly protocolVersion: ProtocolVersion;
  /**
   * The URL that requests are sent to.
   */
  readonly endpoint: string;
  /**
   * Returns whether the binding has a method, by its JSON-RPC name.
   */
  has(method: string): boolean;
  /**
   * Makes a call and reads the answer. Throws if the answer is not one of the
   * binding at all.
   */
  play(
    call: Call,
    recording: Recording,
    signal: AbortSignal,
  ): Promise<Exchange>;
}

/**
 * A call, in the terms of the JSON-RPC binding of its version of A2A.
 */
export interface Call {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /**
   * Headers to add to the usual ones. An empty value removes a header.
   */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Disconnects after this many frames of a stream.
   */
  readonly leaveAfter: number;
}

/**
 * What a server answered to a call.
 */
export interface Exchange {
  /**
   * The HTTP status. It is 200 for an error that the binding reports by the
   * status, because the error is in `documents` then.
   */
  readonly status: number;
  readonly headers: Headers;
  /**
   * The JSON documents of the answer: one, or one per frame of a stream.
   */
  readonly documents: readonly AnswerDocument[];
  /**
   * Whether the answer is a stream that was read to its end.
   */
  readonly isWholeStream: boolean;
  /**
   * Present if the server did not end the stream.
   */
  readonly open?: OpenStream;
  /**
   * What is allowed, but that a client would trip over.
   */
  readonly warnings?: readonly string[];
  /**
   * The requirements of the binding on every exchange that this one violates.
   */
  readonly breaches: readonly Breach[];
}

/**
 * A stream that the server left open.
 */
export interface OpenStream {
  /**
   * The time that it was waited for, in seconds.
   */
  readonly seconds: number;
  /**
   * Whether its last element ends it: it was waited for after that.
   */
  readonly hasEnded: boolean;
}

/**
 * One document of an answer, in the form of JSON-RPC whatever the binding.
 */
export interface AnswerDocument {
  /**
   * The event id. Undefined if there is none.
   */
  readonly id: string | undefined;
  readonly json: JsonObject;
}

/**
 * A violation of a requirement.
 */
export interface Breach {
  /**
   * The id of the requirement.
   */
  readonly requirement: string;
  readonly reason: string;
  /**
   * Whether the answer shows nothing else, so that its case ends with it.
   */
  readonly endsCase?: boolean;
  /**
   * Whether it hinders no reader, so that only the cases of its requirement
   * report it.
   */
  readonly isHarmless?: boolean;
}

/**
 * Statuses by which a server, or a proxy in front of it, refuses a request
 * before A2A: no or wrong credentials, or a body that is too large. The form of
 * the body is not checked then.
 */
export const REFUSED_STATUSES: ReadonlySet<number> = new Set([401, 403, 413]);

/**
 * Creates a result in the form of JSON-RPC.
 */
export function resultDocument(result: JsonValue): JsonObject {
  return { jsonrpc: "2.0", result };
}

/**
 * Creates an error in the form of JSON-RPC.
 */
export function errorDocument(
  code: number,
  message: string,
  data: JsonValue | undefined,
): JsonObject {
  return { jsonrpc: "2.0", error: defined({ code, message, data }) };
}
