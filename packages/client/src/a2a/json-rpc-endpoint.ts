import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { decodeRfcJson } from "@devtool/schema";
import { type JsonRpcResponse, JsonRpcResponseSchema } from "@devtool/schema/a2a-v03";
import { type EndpointOptions, request } from "./endpoint.ts";
import { connectErrorFrom } from "./errors.ts";
import { decodeAnswer, parseAnswer, refusalOf, waitFor } from "./peer.ts";
import type { Frame, RpcEndpoint, StreamCall } from "./rpc-endpoint.ts";
import { isEventStream, serverSentEvents } from "./server-sent-events.ts";

/** A JSON-RPC endpoint of an agent, over fetch. */
export class JsonRpcEndpoint implements RpcEndpoint {
  readonly #options: EndpointOptions;
  readonly #headers: Readonly<Record<string, string>>;
  #lastId = 0;

  /** The headers go with each call: what names the version and the extension. */
  constructor(options: EndpointOptions, headers: Readonly<Record<string, string>>) {
    this.#options = options;
    this.#headers = headers;
  }

  /** Calls a method that answers once. Throws a `ConnectError`. */
  async call(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonValue> {
    const response = await this.#post({ method, params }, { accept: "application/json" }, signal);
    return resultOf(await readJson(response, signal));
  }

  /** Calls a method that streams, after the event with an id when one is given. Throws a `ConnectError`. */
  async *stream({ method, params, lastEventId }: StreamCall, signal: AbortSignal): AsyncIterable<Frame> {
    const resume: Record<string, string> = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
    const response = await this.#post({ method, params }, { accept: "text/event-stream", ...resume }, signal);
    if (!isEventStream(response)) {
      resultOf(await readJson(response, signal));
      throw new ConnectError(`${method} was answered without a stream`, Code.DataLoss);
    }
    for await (const { data, id } of serverSentEvents(response, signal)) {
      yield { result: resultOf(parseAnswer(data)), id };
    }
  }

  #post(
    call: { readonly method: string; readonly params: JsonObject },
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#lastId, ...call });
    const all = { "content-type": "application/json", ...this.#headers, ...headers };
    return request(this.#options, { method: "POST", headers: all, body }, signal);
  }
}

/** Reads the one answer of a call; a refusal by HTTP alone has no JSON-RPC in it. */
async function readJson(response: Response, signal: AbortSignal): Promise<JsonValue> {
  const text = await waitFor(response.text(), signal);
  if (REFUSED.has(response.status) || (!response.ok && !isJsonRpc(text))) throw refusalOf(response.status, text);
  // The Go SDK for 0.3 answers with nothing at all where there is no result.
  return text === "" ? { jsonrpc: "2.0" } : parseAnswer(text);
}

/** The statuses that say more than the error of JSON-RPC beside them, which has no code for it. */
const REFUSED: ReadonlySet<number> = new Set([401, 403, 503]);

function isJsonRpc(text: string): boolean {
  return /"jsonrpc"\s*:/.test(text);
}

function resultOf(json: JsonValue): JsonValue {
  const { outcome }: JsonRpcResponse = decodeAnswer(() => decodeRfcJson(JsonRpcResponseSchema, json));
  if (outcome.case === "error") throw connectErrorFrom(outcome.value);
  return outcome.case === "result" ? toJson(ValueSchema, outcome.value) : null;
}
