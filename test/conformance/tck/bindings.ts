import {
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { A2AService, ErrorInfoSchema } from "@devtool/schema/a2a-v1";
import { EventSourceParserStream } from "eventsource-parser/stream";

/** JSON as tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of an answer, and fails when it is not there
export type Json = any;

/**
 * The result of a call: its answer, or the error code of its binding and the
 * reason in its `ErrorInfo`.
 */
export interface Outcome {
  readonly result?: Json;
  readonly failure?: { readonly code: number; readonly reason: string };
  readonly contentType?: string;
}

/** An open stream. */
export interface Stream extends Outcome {
  /** Its elements; ends when the server closes it. */
  readonly elements: AsyncIterable<Json>;
  /** Disconnects before the end. */
  leave(): void;
}

/** The methods of A2A 1.0, as one of its bindings has them. */
export interface Binding {
  readonly name: "JSON-RPC" | "HTTP+JSON" | "gRPC";
  call(
    method: string,
    params: JsonObject,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Outcome>;
  stream(method: string, params: JsonObject): Promise<Stream>;
}

/** Who calls: the headers of each request. */
export type Headers = Readonly<Record<string, string>>;

const VERSION: Headers = { "a2a-version": "1.0" };

/** The three bindings of a server, each as the kit's own client speaks it. */
export function bindingsOf(
  url: string,
  credentials: Headers = {},
): readonly Binding[] {
  const headers = { ...VERSION, ...credentials };
  return [jsonRpc(url, headers), rest(url, headers), grpc(url, headers)];
}

/** JSON-RPC: parameters in snake_case, at a URL with a slash at its end. */
function jsonRpc(url: string, headers: Headers): Binding {
  const post = (method: string, params: JsonObject, more: Headers) =>
    fetch(`${url}/`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers, ...more },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: "1",
        method,
        params: inSnakeCase(params),
      }),
    });
  const outcome = (json: Json): Outcome =>
    json.error === undefined
      ? { result: json.result }
      : {
          failure: { code: json.error.code, reason: reasonIn(json.error.data) },
        };
  return {
    name: "JSON-RPC",
    call: async (method, params, more = {}) => {
      const response = await post(method, params, more);
      return {
        ...outcome(await response.json()),
        contentType: response.headers.get("content-type") ?? "",
      };
    },
    stream: async (method, params) => {
      const response = await post(method, params, {
        accept: "text/event-stream",
      });
      return streamOf(response, (json) => outcome(json));
    },
  };
}

/**
 * HTTP+JSON: bodies only where there is something to say, query parameters in
 * camelCase.
 */
function rest(url: string, headers: Headers): Binding {
  const send = (method: string, params: JsonObject, more: Headers) => {
    const { verb, path, body } = REST[method]?.(params) ?? {
      verb: "GET",
      path: "/nowhere",
    };
    const type: Headers =
      verb === "POST" ? { "content-type": "application/json" } : {};
    return fetch(url + path, {
      method: verb,
      headers: { ...type, ...headers, ...more },
      ...(body && { body: JSON.stringify(body) }),
    });
  };
  const failure = (json: Json) => ({
    code: json.error.code,
    reason: reasonIn(json.error.details),
  });
  return {
    name: "HTTP+JSON",
    call: async (method, params, more = {}) => {
      const response = await send(method, params, more);
      const json: Json = await response.json();
      const contentType = response.headers.get("content-type") ?? "";
      return response.ok
        ? { result: json, contentType }
        : { failure: failure(json), contentType };
    },
    stream: async (method, params) => {
      const response = await send(method, params, {
        accept: "text/event-stream",
      });
      return streamOf(response, (json) =>
        json.error ? { failure: failure(json) } : { result: json },
      );
    },
  };
}

interface RestCall {
  readonly verb: string;
  readonly path: string;
  readonly body?: JsonObject;
}

const REST: Readonly<Record<string, (params: Json) => RestCall>> = {
  SendMessage: (body) => ({ verb: "POST", path: "/message:send", body }),
  SendStreamingMessage: (body) => ({
    verb: "POST",
    path: "/message:stream",
    body,
  }),
  GetTask: ({ id, ...rest }) => ({
    verb: "GET",
    path: `/tasks/${id}${query(rest)}`,
  }),
  ListTasks: (params) => ({ verb: "GET", path: `/tasks${query(params)}` }),
  CancelTask: ({ id }) => ({ verb: "POST", path: `/tasks/${id}:cancel` }),
  SubscribeToTask: ({ id }) => ({
    verb: "POST",
    path: `/tasks/${id}:subscribe`,
  }),
  CreateTaskPushNotificationConfig: ({ taskId, ...body }) => ({
    verb: "POST",
    path: configs(taskId),
    body,
  }),
  GetTaskPushNotificationConfig: ({ taskId, id }) => ({
    verb: "GET",
    path: `${configs(taskId)}/${id}`,
  }),
  ListTaskPushNotificationConfigs: ({ taskId }) => ({
    verb: "GET",
    path: configs(taskId),
  }),
  DeleteTaskPushNotificationConfig: ({ taskId, id }) => ({
    verb: "DELETE",
    path: `${configs(taskId)}/${id}`,
  }),
  GetExtendedAgentCard: () => ({ verb: "GET", path: "/extendedAgentCard" }),
};

function configs(taskId: string): string {
  return `/tasks/${taskId}/pushNotificationConfigs`;
}

function query(params: Readonly<Record<string, unknown>>): string {
  const text = new URLSearchParams(
    Object.entries(params).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]),
  ).toString();
  return text === "" ? "" : `?${text}`;
}

/** gRPC; requests and answers are told as the JSON that stands for them. */
function grpc(url: string, headers: Headers): Binding {
  const transport = createGrpcTransport({ baseUrl: url });
  return {
    name: "gRPC",
    call: async (method, params, more = {}) => {
      try {
        const { desc, request } = requestOf(method, params);
        if (!isUnary(desc)) throw new TypeError(`${method} streams`);
        const { message } = await transport.unary(
          desc,
          undefined,
          undefined,
          { ...headers, ...more },
          request,
        );
        return { result: toJson(desc.output, message) };
      } catch (reason) {
        return { failure: grpcFailure(reason) };
      }
    },
    stream: (method, params) =>
      grpcStream(transport, { method, params, headers }),
  };
}

async function grpcStream(
  transport: Transport,
  {
    method,
    params,
    headers,
  }: {
    readonly method: string;
    readonly params: JsonObject;
    readonly headers: Headers;
  },
): Promise<Stream> {
  const { desc, request } = requestOf(method, params);
  if (!isServerStreaming(desc)) {
    throw new TypeError(`${method} does not stream`);
  }
  const away = new AbortController();
  const answer = await transport.stream(
    desc,
    away.signal,
    undefined,
    headers,
    once(request),
  );
  const iterator = answer.message[Symbol.asyncIterator]();
  // A failure before the first element is the failure of the call.
  const first = await iterator
    .next()
    .catch((reason: unknown) => grpcFailure(reason));
  if ("code" in first) {
    return { failure: first, elements: none(), leave: () => undefined };
  }
  return {
    leave: () => away.abort(),
    elements: (async function* () {
      for (let next = first; !next.done; next = await iterator.next()) {
        yield toJson(desc.output, next.value);
      }
    })(),
  };
}

function requestOf(
  name: string,
  params: JsonObject,
): { desc: DescMethod; request: MessageShape<DescMessage> } {
  const desc = A2AService.methods.find((method) => method.name === name);
  if (!desc) throw new TypeError(`${name} is not a method of A2A 1.0`);
  return { desc, request: fromJson(desc.input, params) };
}

function isUnary(desc: DescMethod): desc is DescMethodUnary {
  return desc.methodKind === "unary";
}

function isServerStreaming(
  desc: DescMethod,
): desc is DescMethodServerStreaming {
  return desc.methodKind === "server_streaming";
}

function grpcFailure(reason: unknown): {
  readonly code: number;
  readonly reason: string;
} {
  const error = ConnectError.from(reason);
  return {
    code: error.code,
    reason: error.findDetails(ErrorInfoSchema)[0]?.reason ?? "",
  };
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}

async function* none(): AsyncIterable<never> {}

async function streamOf(
  response: Response,
  outcome: (json: Json) => Outcome,
): Promise<Stream> {
  const contentType = response.headers.get("content-type") ?? "";
  const { body } = response;
  if (!contentType.includes("text/event-stream") || !body) {
    return {
      ...outcome(await response.json()),
      contentType,
      elements: none(),
      leave: () => undefined,
    };
  }
  const events = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  const reader = events.getReader();
  const first = await reader.read();
  const failed = first.done
    ? undefined
    : outcome(JSON.parse(first.value.data)).failure;
  return {
    contentType,
    ...(failed && { failure: failed }),
    leave: () => void reader.cancel(),
    elements: (async function* () {
      for (let next = first; !next.done; next = await reader.read()) {
        yield outcome(JSON.parse(next.value.data)).result;
      }
    })(),
  };
}

function reasonIn(details: Json): string {
  return (
    details?.find((detail: Json) =>
      detail["@type"]?.endsWith("google.rpc.ErrorInfo"),
    )?.reason ?? ""
  );
}

function inSnakeCase(params: JsonObject): JsonObject {
  const entries = Object.entries(params).map(
    ([name, value]): [string, JsonValue] => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ],
  );
  return Object.fromEntries(entries);
}
