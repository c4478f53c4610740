import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { decodeRfcJson, EXTENSION_URI } from "@devtool/schema";
import { type JsonRpcResponse, JsonRpcResponseSchema } from "@devtool/schema/a2a-v03";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { connectErrorFrom } from "./errors.ts";
import { decodeAnswer, parseAnswer, refusalOf, waitFor } from "./peer.ts";

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
    return resultOf(await readJson(response, signal));
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
      resultOf(await readJson(response, signal));
      throw new ConnectError(`${method} was answered without a stream`, Code.DataLoss);
    }
    yield* framesOf(response, signal);
  }

  async #post(
    call: { readonly method: string; readonly params: JsonObject },
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { url, token, fetch = globalThis.fetch } = this.#options;
    return waitFor(
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
      signal,
    );
  }
}

async function* framesOf(response: Response, signal: AbortSignal): AsyncIterable<Frame> {
  const parser = new EventSourceParserStream({ maxBufferSize: MAX_FRAME_CHARS });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(parser).getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await waitFor(reader.read(), signal);
      if (done) return;
      yield { result: resultOf(parseAnswer(value.data)), id: value.id };
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** A frame may have so many characters: twice what a server of ours takes as a whole request. */
const MAX_FRAME_CHARS = 32 * 1024 * 1024;

/** Reads the one answer of a call; a refusal by HTTP alone has no JSON-RPC in it. */
async function readJson(response: Response, signal: AbortSignal): Promise<JsonValue> {
  const text = await waitFor(response.text(), signal);
  if (!response.ok && !isJsonRpc(text)) throw refusalOf(response.status, text);
  return parseAnswer(text);
}

function isJsonRpc(text: string): boolean {
  return /"jsonrpc"\s*:/.test(text);
}

function resultOf(json: JsonValue): JsonValue {
  const { outcome }: JsonRpcResponse = decodeAnswer(() => decodeRfcJson(JsonRpcResponseSchema, json));
  if (outcome.case === "error") throw connectErrorFrom(outcome.value);
  return outcome.case === "result" ? toJson(ValueSchema, outcome.value) : null;
}
