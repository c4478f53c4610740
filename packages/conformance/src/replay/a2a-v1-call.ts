import type { IncomingHttpHeaders } from "node:http";
import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import {
  A2AService,
  type HttpBinding,
  httpBindingsOf,
  requestJson,
} from "@devtool/schema/a2a-v1";
import { decodeJsonRpcRequest, JsonRpcCode } from "@devtool/schema/a2a-v03";

/**
 * A call of a method of A2A 1.0, and how its binding encodes the answer.
 */
export interface A2aCall {
  readonly method: DescMethod;
  /**
   * The request message as ProtoJSON.
   */
  readonly json: JsonValue;
  /**
   * The value of `Last-Event-ID`. Undefined if the client sent none.
   */
  readonly lastEventId: string | undefined;
  /**
   * The media type of answers.
   */
  readonly mediaType: string;
  /**
   * Encodes a result or an element of a stream.
   */
  encodeResult(json: JsonValue): string;
  /**
   * Encodes an invalid-argument error.
   */
  encodeError(message: string): {
    readonly status: number;
    readonly body: string;
  };
}

/**
 * The head of an HTTP request.
 */
interface RequestHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Reads an HTTP request as a call over a binding. Throws if it is not one.
 */
export function readCall(
  head: RequestHead,
  body: string,
  binding: "JSONRPC" | "HTTP+JSON",
): A2aCall {
  const path = (head.url ?? "/").split("?", 1)[0] ?? "/";
  const call =
    binding === "JSONRPC"
      ? readRpcCall(head, path, body)
      : readRestCall(head, path, body);
  const lastEventId = head.headers["last-event-id"];
  return {
    ...call,
    lastEventId: lastEventId === undefined ? undefined : String(lastEventId),
  };
}

function readRpcCall(
  head: RequestHead,
  path: string,
  body: string,
): Omit<A2aCall, "lastEventId"> {
  if (head.method !== "POST" || path !== "/") {
    throw new Error("its methods are posted to /");
  }
  const rpc = decodeJsonRpcRequest(JSON.parse(body));
  const method = A2AService.methods.find(({ name }) => name === rpc.method);
  if (!method) {
    throw new Error(`method ${JSON.stringify(rpc.method)} does not exist`);
  }
  const id = rpc.id ?? null;
  const encode = (outcome: object): string =>
    JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
  return {
    method,
    json: rpc.params ?? {},
    mediaType: "application/json",
    encodeResult: (result) => encode({ result }),
    encodeError: (message) => ({
      status: 200,
      body: encode({ error: { code: JsonRpcCode.INVALID_PARAMS, message } }),
    }),
  };
}

function readRestCall(
  head: RequestHead,
  path: string,
  body: string,
): Omit<A2aCall, "lastEventId"> {
  const route = ROUTES.find(
    ({ binding }) => binding.httpMethod === head.method && binding.match(path),
  );
  if (!route) throw new Error("no method has this path");
  const { method, binding } = route;
  const json = requestJson(method.input, binding, {
    variables: binding.match(path) ?? new Map(),
    query: new URL(head.url ?? "", "http://x").searchParams,
    body:
      binding.body === "" || body.trim() === "" ? undefined : JSON.parse(body),
  });
  return {
    method,
    json,
    mediaType: "application/a2a+json",
    encodeResult: (result) => JSON.stringify(result),
    encodeError: (message) => ({
      status: 400,
      body: JSON.stringify({
        error: { code: 400, status: "INVALID_ARGUMENT", message },
      }),
    }),
  };
}

interface Route {
  readonly method: DescMethod;
  readonly binding: HttpBinding;
}

const VERB_AT_END = /:\w+$/;

/**
 * The HTTP routes of all methods. Those that end in a verb, as
 * `/tasks/{id}:cancel`, come first, because `/tasks/{id}` matches them too.
 */
const ROUTES: readonly Route[] = A2AService.methods
  .flatMap((method) =>
    httpBindingsOf(method).map((binding) => ({ method, binding })),
  )
  .toSorted(
    (a, b) =>
      Number(VERB_AT_END.test(b.binding.template)) -
      Number(VERB_AT_END.test(a.binding.template)),
  );
