import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { keepStart } from "@devtool/internal/cut-text";
import { defined, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { decodeRfcJson } from "@devtool/schema";
import { JsonRpcCode, JsonRpcResponseSchema } from "@devtool/schema/a2a-v03";
import { decodeReadable } from "./decode-readable.ts";
import {
  type CallHeaders,
  type EndpointOptions,
  sendRequest,
} from "./endpoint.ts";
import { errorFromHttpStatus, errorFromJsonRpc } from "./errors.ts";
import { readText } from "./response-text.ts";
import type { Frame, RpcEndpoint, StreamCall } from "./rpc-endpoint.ts";
import { isEventStream, readServerSentEvents } from "./server-sent-events.ts";
import { noStream, parseAnswer, unreadableAnswer, waitFor } from "./wire.ts";

/**
 * An agent's JSON-RPC interface. Throws `ConnectError`s.
 */
export class JsonRpcEndpoint implements RpcEndpoint {
  readonly #options: EndpointOptions;
  readonly #headers: CallHeaders;
  #lastId = 0;

  /**
   * `headers` are sent with every call.
   */
  constructor(options: EndpointOptions, headers: CallHeaders) {
    this.#options = options;
    this.#headers = headers;
  }

  async call(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue> {
    const response = await this.#post(
      method,
      params,
      { accept: "application/json" },
      signal,
    );
    return resultFrom(await readResponse(response, signal));
  }

  async *stream(
    { method, params, lastEventId }: StreamCall,
    signal: AbortSignal,
  ): AsyncIterable<Frame> {
    const headers = defined({
      accept: "text/event-stream",
      "last-event-id": lastEventId,
    });
    const response = await this.#post(method, params, headers, signal);
    if (!isEventStream(response)) {
      // An agent that does not stream may answer all the same.
      const result = resultFrom(await readResponse(response, signal));
      if (result === null) throw noStream(method);
      yield { result, id: undefined };
      return;
    }
    for await (const frame of readServerSentEvents(response, signal)) {
      yield frame.result === undefined ? frame : openFrame(frame, frame.result);
    }
  }

  #post(
    method: string,
    params: JsonObject,
    headers: CallHeaders,
    signal: AbortSignal,
  ): Promise<Response> {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: ++this.#lastId,
      method,
      params,
    });
    const all = {
      "content-type": "application/json",
      ...this.#headers,
      ...headers,
    };
    return sendRequest(
      this.#options,
      { method: "POST", headers: all, body },
      signal,
    );
  }
}

/**
 * Statuses that say more than the JSON-RPC error in the body, which has no code
 * for them.
 */
const DECISIVE_STATUSES: ReadonlySet<number> = new Set([401, 403, 503]);

/**
 * Reads the body of an answer that is not a stream. Throws if the HTTP status
 * alone tells the error.
 */
async function readResponse(
  response: Response,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { ok, status } = response;
  const text = await waitFor(readText(response), signal);
  const isJsonRpc = /"jsonrpc"\s*:/.test(text);
  if (DECISIVE_STATUSES.has(status) || (!ok && !isJsonRpc)) {
    throw errorFromHttpStatus(status, text);
  }
  // The Go SDK for 0.3 sends an empty body if there is no result.
  return text === "" ? { jsonrpc: "2.0" } : parseAnswer(text);
}

/**
 * Returns the result of a JSON-RPC response, or null if it has none. Throws the
 * error it carries.
 */
function resultFrom(json: JsonValue): JsonValue {
  const { value, leftOut } = decodeReadable(json, readResult);
  if (value !== undefined) return value;
  throw unreadableAnswer(leftOut);
}

/**
 * Returns the result of the response in a frame. Throws the error it carries.
 */
function openFrame({ id }: Frame, json: JsonValue): Frame {
  const { value, leftOut } = decodeReadable(json, readResult);
  return { result: value, leftOut, id };
}

function readResult(json: JsonValue): JsonValue {
  const { error, result, ...rest } = objectOrEmpty(json);
  if (error) throw readError(error);
  // Null is absent: some servers have both members.
  const answer = error === null && result ? { ...rest, result } : json;
  const { outcome } = decodeRfcJson(JsonRpcResponseSchema, answer);
  const bare = outcome.case === undefined && rest.message;
  if (typeof bare === "string") throw new ConnectError(bare, Code.Internal);
  return outcome.case === "result" ? toJson(ValueSchema, outcome.value) : null;
}

/** Reads an error of any form: one that cannot be read ends the call, too. */
function readError(error: JsonValue): ConnectError {
  const { code, message, data = null } = objectOrEmpty(error);
  const said = typeof error === "string" ? error : stringOrEmpty(message);
  const text = said || keepStart(JSON.stringify(error), MAX_ERROR_LENGTH);
  const known = typeof code === "number" ? code : JsonRpcCode.INTERNAL_ERROR;
  return errorFromJsonRpc(known, text, data);
}

/** Maximum length of an error that is shown as JSON, in characters. */
const MAX_ERROR_LENGTH = 300;
