import {
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromJson,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { objectOrEmpty } from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  encodeA2aJson,
} from "@devtool/schema/a2a-v1";
import { A2A_METHODS } from "./a2a-json.ts";
import {
  type AnswerDocument,
  type Binding,
  type Breach,
  type Endpoint,
  type Exchange,
  errorDocument,
  resultDocument,
} from "./binding.ts";
import { detailBreaches, findErrorRow } from "./error-details.ts";
import { requestHeaders, type SendOptions } from "./http.ts";
import type { Recording } from "./recording.ts";
import { StreamWatch } from "./stream-end.ts";

/**
 * The gRPC binding of A2A 1.0. The gRPC library is loaded with the first call.
 */
export function grpcBinding({ url, token, trust }: Endpoint): Binding {
  const baseUrl = /^https?:/.test(url) ? url : `http://${url}`;
  return {
    name: "GRPC",
    protocolVersion: "1.0",
    endpoint: baseUrl,
    has: (method) => A2A_METHODS.has(method),
    async play(call, recording, signal) {
      const method = A2A_METHODS.get(call.method);
      if (!method) {
        throw new Error(
          `${call.method} is not a method of A2A 1.0: gRPC cannot call it`,
        );
      }
      const usual = { "a2a-version": "1.0", "a2a-extensions": EXTENSION_URI };
      const headers = requestHeaders(usual, token, call.headers);
      const requestLine = `${method.parent.typeName}/${method.name} at ${baseUrl}`;
      recording.addRequest(
        requestLine,
        headers,
        JSON.stringify(call.params ?? {}),
      );
      const { createGrpcTransport, Http2SessionManager } = await import(
        "@connectrpc/connect-node"
      );
      // One connection per call, closed with it: a stream left early would
      // otherwise keep the server waiting.
      const sessionManager = new Http2SessionManager(
        baseUrl,
        undefined,
        trust?.nodeOptions,
      );
      const transport = createGrpcTransport({ baseUrl, sessionManager });
      const request = { method, params: call.params ?? {}, headers };
      try {
        return await playRequest(
          transport,
          request,
          { recording, leaveAfter: call.leaveAfter },
          signal,
        );
      } finally {
        sessionManager.abort();
      }
    },
  };
}

interface GrpcRequest {
  readonly method: DescMethod;
  readonly params: JsonObject;
  readonly headers: Headers;
}

async function playRequest(
  transport: Transport,
  request: GrpcRequest,
  { recording, leaveAfter }: Pick<SendOptions, "recording" | "leaveAfter">,
  signal: AbortSignal,
): Promise<Exchange> {
  const { method } = request;
  const isStream = method.methodKind !== "unary";
  const documents: AnswerDocument[] = [];
  let headers = new Headers();
  const leave = new AbortController();
  using watch = new StreamWatch(leave);
  try {
    const limit = AbortSignal.any([signal, leave.signal]);
    const { messages, ...answer } = await send(transport, request, limit);
    headers = answer.headers;
    // Some methods return messages that are not A2A's, such as
    // `google.protobuf.Empty`.
    const isA2a = method.output.typeName.startsWith("lf.a2a.");
    for await (const message of messages) {
      const json = isA2a
        ? encodeA2aJson(method.output, message)
        : toJson(method.output, message);
      documents.push({ id: undefined, json: resultDocument(json) });
      recording.setResponseBody(
        documents.map(({ json }) => JSON.stringify(json.result)).join("\n"),
      );
      if (documents.length >= leaveAfter) break;
      if (isStream) watch.see(json);
    }
    const isWholeStream = isStream && documents.length < leaveAfter;
    recording.setResponse("OK", headers);
    return { status: 200, headers, documents, isWholeStream, breaches: [] };
  } catch (reason) {
    const open = isStream ? watch.openStream(signal) : undefined;
    if (open !== undefined) {
      recording.setResponse("no status: the stream is open", headers);
      const answer = { status: 200, headers, documents, open };
      return { ...answer, isWholeStream: false, breaches: [] };
    }
    signal.throwIfAborted();
    if (!(reason instanceof ConnectError)) throw reason;
    return errorExchange(reason, documents, recording);
  }
}

interface GrpcAnswer {
  readonly headers: Headers;
  readonly messages: AsyncIterable<Message> | Iterable<Message>;
}

async function send(
  transport: Transport,
  { method, params, headers }: GrpcRequest,
  signal: AbortSignal,
): Promise<GrpcAnswer> {
  const request = fromJson(method.input, params, { ignoreUnknownFields: true });
  if (isUnary(method)) {
    const { header, message } = await transport.unary(
      method,
      signal,
      undefined,
      headers,
      request,
    );
    return { headers: header, messages: [message] };
  }
  if (!isServerStreaming(method)) {
    throw new TypeError(
      `${method.name}: A2A has no methods with streamed requests`,
    );
  }
  const requests = (async function* () {
    yield request;
  })();
  const { header, message } = await transport.stream(
    method,
    signal,
    undefined,
    headers,
    requests,
  );
  return { headers: header, messages: message };
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isServerStreaming(
  method: DescMethod,
): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}

/**
 * Converts an error, after the documents that came before it, and checks its
 * status and details.
 */
function errorExchange(
  error: ConnectError,
  before: readonly AnswerDocument[],
  recording: Recording,
): Exchange {
  const grpc = GRPC_NAMES[error.code];
  const schemas: readonly DescMessage[] = [ErrorInfoSchema, BadRequestSchema];
  const details = schemas.flatMap((schema) =>
    error.findDetails(schema).map((detail) => {
      return {
        "@type": `type.googleapis.com/${schema.typeName}`,
        ...objectOrEmpty(toJson(schema, detail)),
      };
    }),
  );
  recording.setResponse(`${error.code} ${grpc}`, error.metadata);
  recording.setResponseBody(
    JSON.stringify({ message: error.rawMessage, details }),
  );
  const row = findErrorRow(details, { grpc });
  const json = errorDocument(row?.code ?? -32603, error.rawMessage, details);
  const breaches: Breach[] = detailBreaches(json);
  if (row && !row.grpc.includes(grpc)) {
    const reason = `${row.reason} must have the status ${row.grpc.join(" or ")}: got ${grpc}`;
    breaches.push({ requirement: "A2A1-GRPC-STATUS", reason });
  }
  const documents = [...before, { id: undefined, json }];
  return {
    status: 200,
    headers: error.metadata,
    documents,
    isWholeStream: false,
    breaches,
  };
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
