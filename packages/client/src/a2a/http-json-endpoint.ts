import type { JsonValue } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { defined, parseJsonOrUndefined } from "@devtool/internal/json";
import type { HttpCall } from "@devtool/schema/a2a-v1";
import {
  type CallHeaders,
  type EndpointOptions,
  sendRequest,
} from "./endpoint.ts";
import { errorFromHttpStatus } from "./errors.ts";
import { readText } from "./response-text.ts";
import type { Frame } from "./rpc-endpoint.ts";
import { isEventStream, readServerSentEvents } from "./server-sent-events.ts";
import { noStream, parseAnswer, waitFor, wellFormed } from "./wire.ts";

/**
 * Options of an `HttpJsonEndpoint`.
 */
export interface HttpJsonOptions extends EndpointOptions {
  /**
   * Sent with every call.
   */
  readonly headers: CallHeaders;
  /**
   * Reads an error in the form of one version of A2A. Returns undefined for
   * JSON that is not an error.
   */
  readonly errorFrom: (
    json: JsonValue,
    status: number,
  ) => ConnectError | undefined;
}

/**
 * A call that is answered with a stream.
 */
export interface HttpJsonStream {
  readonly call: HttpCall;
  /**
   * Sent as `Last-Event-ID`: the stream continues after this event. Undefined
   * starts a new stream.
   */
  readonly lastEventId?: string | undefined;
}

/**
 * An agent's HTTP+JSON interface, called by method and path. Throws
 * `ConnectError`s.
 */
export class HttpJsonEndpoint {
  readonly #options: HttpJsonOptions;

  constructor(options: HttpJsonOptions) {
    this.#options = options;
  }

  /**
   * Makes a call that has one answer. An empty answer is null.
   */
  async call(call: HttpCall, signal: AbortSignal): Promise<JsonValue> {
    const response = await this.#send(
      call,
      { accept: "application/json" },
      signal,
    );
    const text = await this.#readText(response, signal);
    return text === "" ? null : parseAnswer(text);
  }

  /**
   * Makes a call that streams.
   */
  async *stream(
    { call, lastEventId }: HttpJsonStream,
    signal: AbortSignal,
  ): AsyncIterable<Frame> {
    const headers = defined({
      accept: "text/event-stream",
      "last-event-id": lastEventId,
    });
    const response = await this.#send(call, headers, signal);
    if (!isEventStream(response)) {
      // An agent that does not stream may answer all the same.
      const text = await this.#readText(response, signal);
      if (text === "") throw noStream(`${call.httpMethod} ${call.path}`);
      yield { result: parseAnswer(text), id: undefined };
      return;
    }
    for await (const frame of readServerSentEvents(response, signal)) {
      const { result = null } = frame;
      const error = this.#options.errorFrom(result, response.status);
      if (error) throw error;
      yield frame;
    }
  }

  #send(
    { httpMethod, path, body }: HttpCall,
    headers: CallHeaders,
    signal: AbortSignal,
  ): Promise<Response> {
    const url = `${this.#options.url.replace(/\/+$/, "")}${path}`;
    const contentType = body === undefined ? undefined : "application/json";
    const init = defined({
      method: httpMethod,
      headers: defined({
        "content-type": contentType,
        ...this.#options.headers,
        ...headers,
      }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return sendRequest({ ...this.#options, url }, init, signal);
  }

  /**
   * Reads the body of a response. Throws the error that the body describes, or
   * one for its status.
   */
  async #readText(response: Response, signal: AbortSignal): Promise<string> {
    const text = await waitFor(readText(response), signal);
    if (response.ok) return text;
    const json = parseJsonOrUndefined(text);
    const error =
      json === undefined
        ? undefined
        : this.#options.errorFrom(wellFormed(json), response.status);
    throw error ?? errorFromHttpStatus(response.status, text);
  }
}
