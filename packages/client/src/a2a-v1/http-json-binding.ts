import { create, type DescMessage, type DescMethod, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { decodeA2aJson, encodeA2aJson, httpCallOf, StreamResponseSchema } from "@devtool/schema/a2a-v1";
import { type EndpointOptions, request as requestFrom } from "../a2a/endpoint.ts";
import { connectErrorOfStatus } from "../a2a/errors.ts";
import { decodeAnswer, parseAnswer, refusalOf, waitFor } from "../a2a/peer.ts";
import { isEventStream, serverSentEvents } from "../a2a/server-sent-events.ts";
import type { A2aBinding } from "./binding.ts";

/** A2A 1.0 over HTTP+JSON: its methods are called as the annotations of its proto say. */
export function httpJsonBinding(endpoint: EndpointOptions, common: Readonly<Record<string, string>>): A2aBinding {
  return {
    async call(method, request, signal) {
      const headers = { ...common, accept: "application/json" };
      const text = await textOf(await send(endpoint, { method, request, headers }, signal), signal);
      return decodeAnswer(() => decodeA2aJson(method.output, text === "" ? {} : parseAnswer(text)));
    },
    async *stream(method, { request, lastEventId }, signal) {
      const resume = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
      const headers = { ...common, accept: "text/event-stream", ...resume };
      const response = await send(endpoint, { method, request, headers }, signal);
      if (!isEventStream(response)) {
        await textOf(response, signal);
        throw new ConnectError(`${method.name} was answered without a stream`, Code.DataLoss);
      }
      for await (const { data, id } of serverSentEvents(response, signal)) {
        const json = parseAnswer(data);
        const error = connectErrorOfStatus(json);
        if (error) throw error;
        yield { response: decodeAnswer(() => decodeA2aJson(StreamResponseSchema, json)), id };
      }
    },
  };
}

interface Sending<I extends DescMessage> {
  readonly method: DescMethod & { readonly input: I };
  readonly request: MessageInitShape<I>;
  readonly headers: Readonly<Record<string, string>>;
}

function send<I extends DescMessage>(
  endpoint: EndpointOptions,
  { method, request, headers }: Sending<I>,
  signal: AbortSignal,
): Promise<Response> {
  const call = httpCallOf(method, encodeA2aJson(method.input, create(method.input, request)));
  const url = `${endpoint.url.replace(/\/+$/, "")}${call.path}`;
  const content = call.body !== undefined && { "content-type": "application/json" };
  const init = {
    method: call.httpMethod,
    headers: { ...content, ...headers },
    ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
  };
  return requestFrom({ ...endpoint, url }, init, signal);
}

/** What was answered; a refusal is thrown, as the body tells it or else by its status. */
async function textOf(response: Response, signal: AbortSignal): Promise<string> {
  const text = await waitFor(response.text(), signal);
  if (response.ok) return text;
  throw errorIn(text) ?? refusalOf(response.status, text);
}

function errorIn(text: string): ConnectError | undefined {
  let json: JsonValue;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  return connectErrorOfStatus(json);
}
