import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import { unmarkLongIds } from "@devtool/internal/long-ids";
import type { FetchLike } from "@modelcontextprotocol/client";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { withBody } from "./bounded-fetch.ts";
import { describeError } from "./describe-error.ts";
import type { FloodGate } from "./flood-gate.ts";
import { showJson } from "./message-problem.ts";
import type { MessageReader } from "./message-reader.ts";

/**
 * Returns a fetch that has every message read by `reader` before the SDK reads
 * it, in JSON and in event streams.
 *
 * A request whose answer is not JSON, is the answer to none, or whose stream
 * ends without an answer and cannot be resumed, ends with an error. With consent
 * (401, 403) it may be resumed. Over `sse`, answers come in another stream.
 * A stream also ends when `gate` throws, which counts what comes in all streams.
 */
export function readingFetch(
  fetch: FetchLike,
  reader: MessageReader,
  protocol: "http" | "sse",
  gate: Pick<FloodGate, "count">,
): FetchLike {
  return async (url, init) => {
    const body = init?.body;
    const sent = typeof body === "string" ? parseJsonOrUndefined(body) : null;
    const isRpc = isObject(sent) && sent.jsonrpc === "2.0";
    const message = isRpc ? reader.send(sent) : undefined;
    const response = await fetch(
      url,
      message
        ? { ...init, body: unmarkLongIds(JSON.stringify(message)) }
        : init,
    );
    const lastEvent = new Headers(init?.headers).get("last-event-id");
    const id = message?.id ?? reader.findByEvent(lastEvent);
    if (lastEvent !== null && /^4(?!01|03)/.test(String(response.status))) {
      const why = `its stream ended without it, and resuming it was answered with HTTP ${response.status}`;
      const [failed] = reader.fail(id, why);
      if (!failed) return response;
      return withBody(response, asEvent(failed), "text/event-stream");
    }
    if (!response.ok) return response;
    const type = response.headers.get("content-type") ?? "";
    if (response.body && /^\s*text\/event-stream\b/i.test(type)) {
      const events = readEvents(response.body, reader, gate, id);
      return withBody(response, ReadableStream.from(events), type);
    }
    const isRequest = message?.id !== undefined && message.method !== undefined;
    if (!isRequest || protocol === "sse") return response;
    // Whatever it is called, it is the answer.
    const text = await response.text();
    const isJson = parseJsonOrUndefined(text) !== undefined;
    const problem = isJson ? "it has another id" : "it is not JSON";
    const read = [
      ...reader.readText(text),
      ...reader.fail(message.id, `${problem}: ${showJson(text.slice(0, 80))}`),
    ];
    return withBody(response, JSON.stringify(read), "application/json");
  };
}

/** Yields the events of a stream with its messages read. */
async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  reader: MessageReader,
  gate: Pick<FloodGate, "count">,
  id: JsonValue | undefined,
): AsyncIterable<Uint8Array> {
  const events: EventSourceMessage[] = [];
  const fields: string[] = [];
  let isResumable = false;
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onRetry: (retryMs) => fields.push(`retry: ${retryMs}\n`),
  });
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let why = "its stream ended without it";
  try {
    for await (const chunk of body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      gate.count(events.length, chunk.length);
      for (const event of events.splice(0)) {
        isResumable ||= event.id !== undefined;
        if (event.id !== undefined) reader.noteEvent(id, event.id);
        fields.push(encodeEvent(event, reader));
      }
      yield encoder.encode(fields.splice(0).join(""));
    }
  } catch (reason) {
    if (isResumable || id === undefined) throw reason;
    why += `: ${describeError(reason)}`;
  }
  if (isResumable) return;
  const [ended] = reader.fail(id, why);
  if (ended) yield encoder.encode(asEvent(ended));
}

function asEvent(message: JsonObject): string {
  return `data: ${JSON.stringify(message)}\n\n`;
}

function encodeEvent(
  { event, id, data }: EventSourceMessage,
  reader: MessageReader,
): string {
  const isMessage = event === undefined || event === "message";
  // A message at a time: the SDK takes no lists from events.
  const texts =
    isMessage && data !== ""
      ? reader.readText(data).map((each) => JSON.stringify(each))
      : [data];
  const head = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
  ];
  return (texts.length > 0 ? texts : [""])
    .map((text) => {
      const lines = text.split("\n").map((line) => `data: ${line}`);
      return [...head, ...lines, "\n"].join("\n");
    })
    .join("");
}
