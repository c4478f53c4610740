import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { HttpCall } from "@devtool/schema/a2a-v1";
import { type EndpointOptions, request } from "./endpoint.ts";
import { parseAnswer, refusalOf, waitFor } from "./peer.ts";
import type { Frame } from "./rpc-endpoint.ts";
import { isEventStream, serverSentEvents } from "./server-sent-events.ts";

/** What an endpoint of HTTP+JSON needs beside its address. */
export interface HttpJsonOptions extends EndpointOptions {
  /** They go with each call: what names the version and the extension. */
  readonly headers: Readonly<Record<string, string>>;
  /** Reads an error as a version of A2A writes it; undefined when an answer or a frame is none. */
  readonly errorIn: (json: JsonValue, status: number) => ConnectError | undefined;
}

/** A call that is answered by a stream. */
export interface HttpJsonStream {
  readonly call: HttpCall;
  /** The last event that is known; undefined for a stream that has none before it. */
  readonly lastEventId?: bigint | undefined;
}

/** An endpoint of an agent that is called by paths, over fetch. What it throws is a `ConnectError`. */
export class HttpJsonEndpoint {
  readonly #options: HttpJsonOptions;

  constructor(options: HttpJsonOptions) {
    this.#options = options;
  }

  /** Calls what answers once; an answer of nothing is null. */
  async call(call: HttpCall, signal: AbortSignal): Promise<JsonValue> {
    const text = await this.#textOf(await this.#send(call, { accept: "application/json" }, signal), signal);
    return text === "" ? null : parseAnswer(text);
  }

  /** Calls what streams, after the event with an id when one is given. */
  async *stream({ call, lastEventId }: HttpJsonStream, signal: AbortSignal): AsyncIterable<Frame> {
    const resume: Record<string, string> = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
    const response = await this.#send(call, { accept: "text/event-stream", ...resume }, signal);
    if (!isEventStream(response)) {
      await this.#textOf(response, signal);
      throw new ConnectError(`${call.httpMethod} ${call.path} was answered without a stream`, Code.DataLoss);
    }
    for await (const { data, id } of serverSentEvents(response, signal)) {
      const result = parseAnswer(data);
      const error = this.#options.errorIn(result, response.status);
      if (error) throw error;
      yield { result, id };
    }
  }

  #send(
    { httpMethod, path, body }: HttpCall,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const url = `${this.#options.url.replace(/\/+$/, "")}${path}`;
    const content = body !== undefined && { "content-type": "application/json" };
    const init = {
      method: httpMethod,
      headers: { ...content, ...this.#options.headers, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    return request({ ...this.#options, url }, init, signal);
  }

  /** What was answered; a refusal is thrown, as the body tells it or else by its status. */
  async #textOf(response: Response, signal: AbortSignal): Promise<string> {
    const text = await waitFor(response.text(), signal);
    if (response.ok) return text;
    throw this.#errorIn(text, response.status) ?? refusalOf(response.status, text);
  }

  #errorIn(text: string, status: number): ConnectError | undefined {
    let json: JsonValue;
    try {
      json = JSON.parse(text);
    } catch {
      return undefined;
    }
    return this.#options.errorIn(json, status);
  }
}
