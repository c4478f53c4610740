import type { IncomingHttpHeaders } from "node:http";
import { type DescMethod, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { A2AService, type HttpBinding, httpBindingsOf, requestJson } from "@devtool/schema/a2a-v1";
import { decodeJsonRpcRequest, JsonRpcCode } from "@devtool/schema/a2a-v03";

/** A call of a method of A2A 1.0, and how it is answered in its binding. */
export interface A2aCall {
  readonly method: DescMethod;
  /** The request in ProtoJSON. */
  readonly json: JsonValue;
  /** The id of the last event that the client has; undefined when it names none. */
  readonly lastEventId: string | undefined;
  readonly mediaType: string;
  /** The text of a result, or of an element of a stream. */
  result(json: JsonValue): string;
  error(message: string): { readonly status: number; readonly body: string };
}

/** What a call is read from. */
interface Asked {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Reads a call in a binding. Throws, and says why, when it is none. */
export function readCall(asked: Asked, body: string, binding: "JSONRPC" | "HTTP+JSON"): A2aCall {
  return binding === "JSONRPC" ? rpcCall(asked, body) : restCall(asked, body);
}

function rpcCall(asked: Asked, body: string): A2aCall {
  if (asked.method !== "POST" || pathOf(asked) !== "/") throw new Error("its methods are posted to /");
  const rpc = decodeJsonRpcRequest(JSON.parse(body));
  const method = A2AService.methods.find(({ name }) => name === rpc.method);
  if (!method) throw new Error(`method ${JSON.stringify(rpc.method)} does not exist`);
  const id = rpc.id ? toJson(ValueSchema, rpc.id) : null;
  const envelope = (outcome: object): string => JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
  return {
    method,
    json: rpc.params ? toJson(ValueSchema, rpc.params) : {},
    lastEventId: lastEventIdOf(asked),
    mediaType: "application/json",
    result: (result) => envelope({ result }),
    error: (message) => ({ status: 200, body: envelope({ error: { code: JsonRpcCode.INVALID_PARAMS, message } }) }),
  };
}

function restCall(asked: Asked, body: string): A2aCall {
  const path = pathOf(asked);
  const found = BOUND.find(({ binding }) => binding.httpMethod === asked.method && binding.match(path));
  if (!found) throw new Error("no method has this path");
  const { method, binding } = found;
  const json = requestJson(method.input, binding, {
    variables: binding.match(path) ?? new Map(),
    query: new URL(asked.url ?? "", "http://x").searchParams,
    body: binding.body === "" || body.trim() === "" ? undefined : JSON.parse(body),
  });
  return {
    method,
    json,
    lastEventId: lastEventIdOf(asked),
    mediaType: "application/a2a+json",
    result: (result) => JSON.stringify(result),
    error: (message) => ({
      status: 400,
      body: JSON.stringify({ error: { code: 400, status: "INVALID_ARGUMENT", message } }),
    }),
  };
}

interface Bound {
  readonly method: DescMethod;
  readonly binding: HttpBinding;
}

/** The ways in which methods are called; those that end in a verb first, since `/tasks/{id}` takes them too. */
const BOUND: readonly Bound[] = A2AService.methods
  .flatMap((method) => httpBindingsOf(method).map((binding) => ({ method, binding })))
  .toSorted((a, b) => Number(hasVerb(b)) - Number(hasVerb(a)));

function hasVerb({ binding }: Bound): boolean {
  return /:\w+$/.test(binding.template);
}

function pathOf({ url = "/" }: Asked): string {
  return url.split("?", 1)[0] ?? "/";
}

function lastEventIdOf({ headers }: Asked): string | undefined {
  const id = headers["last-event-id"];
  return id === undefined ? undefined : String(id);
}
