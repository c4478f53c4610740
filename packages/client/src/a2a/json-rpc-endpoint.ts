import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { decodeRfcJson, EXTENSION_URI } from "@devtool/schema";
import { type JsonRpcResponse, JsonRpcResponseSchema } from "@devtool/schema/a2a-v03";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { connectErrorFrom } from "./errors.ts";

/** Where an A2A agent is. */
export interface A2aTransportOptions {
  /** The endpoint of its JSON-RPC transport: `url` of its card. */
  readonly url: string;
  /** Sent as bearer token. Default: none. */
  readonly token?: string;
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch;
}

/** One frame of a stream. */
export interface Frame {
  readonly result: JsonValue;
  /** The id of the event; undefined when the server gives none. */
  readonly id: string | undefined;
}

/** A JSON-RPC endpoint of an agent, over fetch. */
export class JsonRpcEndpoint {
  readonly #options: A2aTransportOptions;
  #lastId = 0;

  constructor(options: A2aTransportOptions) {
    this.#options = options;
  }

  /** Calls a method that answers once. Throws a `ConnectError`. */
  async call(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonValue> {
    const response = await this.#post({ method, params }, { accept: "application/json" }, signal);
    return resultOf(await readJson(response));
  }

  /** Calls a method that streams, after the event with an id when one is given. Throws a `ConnectError`. */
  async *stream(
    {
      method,
      params,
      lastEventId,
    }: { readonly method: string; readonly params: JsonObject; readonly lastEventId?: bigint },
    signal: AbortSignal,
  ): AsyncIterable<Frame> {
    const resume: Record<string, string> = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
    const response = await this.#post({ method, params }, { accept: "text/event-stream", ...resume }, signal);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      resultOf(await readJson(response));
      throw new ConnectError(`${method} was answered without a stream`, Code.Internal);
    }
    yield* framesOf(response);
  }

  async #post(
    call: { readonly method: string; readonly params: JsonObject },
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { url, token, fetch = globalThis.fetch } = this.#options;
    const response = await lost(
      fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-a2a-extensions": EXTENSION_URI,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: ++this.#lastId, ...call }),
        signal,
      }),
    );
    if (response.status === 401) throw new ConnectError("the bearer token is missing or wrong", Code.Unauthenticated);
    if (response.status === 403) throw new ConnectError(await response.text(), Code.PermissionDenied);
    return response;
  }
}

async function* framesOf(response: Response): AsyncIterable<Frame> {
  const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const reader = events?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await lost(reader.read());
      if (done) return;
      yield { result: resultOf(JSON.parse(value.data)), id: value.id };
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function readJson(response: Response): Promise<JsonValue> {
  const text = await lost(response.text());
  try {
    return JSON.parse(text);
  } catch {
    throw new ConnectError(`the agent answered with HTTP ${response.status} and no JSON`, Code.Unavailable);
  }
}

function resultOf(json: JsonValue): JsonValue {
  const { outcome }: JsonRpcResponse = decodeRfcJson(JsonRpcResponseSchema, json);
  if (outcome.case === "error") throw connectErrorFrom(outcome.value);
  return outcome.case === "result" ? toJson(ValueSchema, outcome.value) : null;
}

/** Waits for the network; what goes wrong there is a connection that was lost. */
async function lost<T>(waiting: Promise<T>): Promise<T> {
  try {
    return await waiting;
  } catch (reason) {
    if (reason instanceof Error && reason.name === "AbortError") throw new ConnectError("canceled", Code.Canceled);
    throw new ConnectError("the connection was lost", Code.Unavailable, undefined, undefined, reason);
  }
}
