import {
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { EXTENSION_URI } from "@devtool/schema";
import { A2AService, BadRequestSchema, ErrorInfoSchema, encodeA2aJson } from "@devtool/schema/a2a-v1";
import {
  type Answered,
  type Binding,
  type Breach,
  type Call,
  type Endpoint,
  type Exchange,
  errorDocument,
  resultDocument,
} from "./binding.ts";
import { detailBreaches, rowOf } from "./error-details.ts";
import { headersOf } from "./http.ts";
import type { Recording } from "./recording.ts";

/** The gRPC binding of A2A 1.0. The library that speaks gRPC is loaded with the first call. */
export function grpcBinding({ url, token, trust }: Endpoint): Binding {
  const baseUrl = /^https?:/.test(url) ? url : `http://${url}`;
  return {
    name: "GRPC",
    protocolVersion: "1.0",
    endpoint: baseUrl,
    has: (method) => METHODS.has(method),
    async play(call, recording, signal) {
      const method = METHODS.get(call.method);
      if (!method) throw new Error(`${call.method} is no method of A2A 1.0: gRPC has no way to call it`);
      const usual = { "a2a-version": "1.0", "a2a-extensions": EXTENSION_URI };
      const headers = headersOf(usual, { token, changes: call.headers });
      recording.sent(
        `${method.parent.typeName}/${method.name} at ${baseUrl}`,
        headers,
        JSON.stringify(call.params ?? {}),
      );
      const { createGrpcTransport, Http2SessionManager } = await import("@connectrpc/connect-node");
      // A connection for each call, which ends with it: one that a call was left on would wait for the server.
      const sessionManager = new Http2SessionManager(baseUrl, undefined, trust?.nodeOptions);
      const transport = createGrpcTransport({ baseUrl, sessionManager });
      return run({ method, call, headers, recording, transport }, signal).finally(() => sessionManager.abort());
    },
  };
}

const METHODS: ReadonlyMap<string, DescMethod> = new Map(A2AService.methods.map((method) => [method.name, method]));

interface Running {
  readonly method: DescMethod;
  readonly call: Call;
  readonly headers: Headers;
  readonly recording: Recording;
  readonly transport: Transport;
}

async function run(running: Running, signal: AbortSignal): Promise<Exchange> {
  const { method, recording } = running;
  const documents: Answered[] = [];
  let headers = new Headers();
  let isWholeStream = false;
  try {
    const answer = await answerOf(running, signal);
    headers = answer.headers;
    for await (const message of answer.messages) {
      documents.push({ id: undefined, json: resultDocument(jsonOf(method.output, message)) });
      recording.received(documents.map(({ json }) => JSON.stringify(json.result)).join("\n"));
      if (documents.length >= running.call.leaveAfter) break;
    }
    isWholeStream = method.methodKind !== "unary" && documents.length < running.call.leaveAfter;
    recording.answered("OK", headers);
    return { status: 200, headers, documents, isWholeStream, breaches: [] };
  } catch (reason) {
    if (!(reason instanceof ConnectError) || signal.aborted) throw reason;
    return refused(reason, { documents, recording });
  }
}

interface GrpcAnswer {
  readonly headers: Headers;
  readonly messages: AsyncIterable<Message> | Iterable<Message>;
}

async function answerOf({ method, call, headers, transport }: Running, signal: AbortSignal): Promise<GrpcAnswer> {
  const request = fromJson(method.input, call.params ?? {}, { ignoreUnknownFields: true });
  if (isUnary(method)) {
    const { header, message } = await transport.unary(method, signal, undefined, headers, request);
    return { headers: header, messages: [message] };
  }
  if (!isStreaming(method)) throw new TypeError(`${method.name} streams from the client: A2A has no such method`);
  const { header, message } = await transport.stream(method, signal, undefined, headers, once(request));
  return { headers: header, messages: message };
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}

function refused(
  error: ConnectError,
  { documents, recording }: { readonly documents: readonly Answered[]; readonly recording: Recording },
): Exchange {
  const grpc = GRPC_NAMES[error.code];
  const details = detailsOf(error);
  const row = rowOf(details, { grpc });
  recording.answered(`${error.code} ${grpc}`, error.metadata);
  recording.received(JSON.stringify({ message: error.rawMessage, details }));
  const json = errorDocument(row?.code ?? -32603, error.rawMessage, details);
  const wrong = row && !row.grpc.includes(grpc);
  const reason = `${row?.reason} must have the status ${row?.grpc.join(" or ")}: got ${grpc}`;
  const breaches: Breach[] = [...detailBreaches(json), ...(wrong ? [{ requirement: "A2A1-GRPC-STATUS", reason }] : [])];
  const all = [...documents, { id: undefined, json }];
  return { status: 200, headers: error.metadata, documents: all, isWholeStream: false, breaches };
}

function detailsOf(error: ConnectError): JsonValue[] {
  return [
    ...error.findDetails(ErrorInfoSchema).map((detail) => anyJson(ErrorInfoSchema, detail)),
    ...error.findDetails(BadRequestSchema).map((detail) => anyJson(BadRequestSchema, detail)),
  ];
}

function anyJson(schema: DescMessage, detail: Message): JsonObject {
  return { "@type": `type.googleapis.com/${schema.typeName}`, ...jsonOf(schema, detail) };
}

function jsonOf(schema: DescMessage, message: Message): JsonObject {
  const json: JsonValue = schema.typeName.startsWith("lf.a2a.")
    ? encodeA2aJson(schema, message)
    : toJson(schema, message);
  return typeof json === "object" && json !== null && !Array.isArray(json) ? json : {};
}

const GRPC_NAMES: Readonly<Record<Code, string>> = {
  [Code.Canceled]: "CANCELLED",
  [Code.Unknown]: "UNKNOWN",
  [Code.InvalidArgument]: "INVALID_ARGUMENT",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "ALREADY_EXISTS",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.ResourceExhausted]: "RESOURCE_EXHAUSTED",
  [Code.FailedPrecondition]: "FAILED_PRECONDITION",
  [Code.Aborted]: "ABORTED",
  [Code.OutOfRange]: "OUT_OF_RANGE",
  [Code.Unimplemented]: "UNIMPLEMENTED",
  [Code.Internal]: "INTERNAL",
  [Code.Unavailable]: "UNAVAILABLE",
  [Code.DataLoss]: "DATA_LOSS",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
};
