import type { JsonValue } from "@bufbuild/protobuf";
import { unmarkLongIds } from "@devtool/schema";
import { isObject, parseJsonOrUndefined } from "@devtool/schema/json";
import type { FetchLike } from "@modelcontextprotocol/client";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { withBody } from "./bounded-fetch.ts";
import type { MessageReader } from "./message-reader.ts";

/**
 * Returns a fetch that has every message read by `reader` before the SDK reads
 * it, in JSON and in event streams.
 *
 * A request whose answer is not JSON, or whose stream ends without an answer
 * and cannot be resumed, ends with an error.
 */
export function readingFetch(
  fetch: FetchLike,
  reader: MessageReader,
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
    if (!response.ok || !response.body) return response;
    const type = response.headers.get("content-type") ?? "";
    if (/^text\/event-stream\b/i.test(type)) {
      const events = readEvents(response.body, reader, message?.id);
      return withBody(response, ReadableStream.from(events));
    }
    if (!message || !/^application\/json\b/i.test(type)) return response;
    const text = await response.text();
    const read =
      reader.readText(text) ?? reader.fail(message.id, "it is not JSON");
    return withBody(response, read ? JSON.stringify(read) : text);
  };
}

/** Yields the events of a stream with its messages read. */
async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  reader: MessageReader,
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
  try {
    for await (const chunk of body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      for (const event of events.splice(0)) {
        isResumable ||= event.id !== undefined;
        fields.push(encodeEvent(event, reader));
      }
      yield encoder.encode(fields.splice(0).join(""));
    }
  } catch (reason) {
    if (isResumable || id === undefined) throw reason;
  }
  const ended = isResumable
    ? undefined
    : reader.fail(id, "its stream ended without it");
  if (ended) yield encoder.encode(`data: ${JSON.stringify(ended)}\n\n`);
}

function encodeEvent(
  { event, id, data }: EventSourceMessage,
  reader: MessageReader,
): string {
  const isMessage = event === undefined || event === "message";
  const read = isMessage && data !== "" ? reader.readText(data) : undefined;
  // A message at a time: the SDK takes no lists from events.
  if (Array.isArray(read)) {
    return read.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");
  }
  const text = read === undefined ? data : JSON.stringify(read);
  return [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...text.split("\n").map((line) => `data: ${line}`),
    "\n",
  ].join("\n");
}
