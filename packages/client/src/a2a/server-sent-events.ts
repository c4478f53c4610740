import { Code, ConnectError } from "@connectrpc/connect";
import { isObject } from "@devtool/schema/json";
import {
  type EventSourceMessage,
  EventSourceParserStream,
} from "eventsource-parser/stream";
import type { Frame } from "./rpc-endpoint.ts";
import { parseAnswer, waitFor } from "./wire.ts";

/**
 * Maximum length of a frame in characters: room for the largest request
 * devtool's server accepts, repeated in an event.
 */
const MAX_FRAME_CHARS = 32 * 1024 * 1024;

/**
 * Whether a response is a stream of server-sent events.
 */
export function isEventStream({ headers }: Response): boolean {
  const type = headers.get("content-type") ?? "";
  return /^\s*text\/event-stream\s*(;|$)/i.test(type);
}

/**
 * Yields the JSON of each server-sent event of a response as it arrives. One
 * that is not valid JSON has no result. Events without content are skipped:
 * those that only keep a connection alive, and the end mark of other protocols.
 *
 * Throws as `waitFor` does, and for an event called `error` with a text. Leaving the loop
 * closes the connection.
 */
export async function* readServerSentEvents(
  response: Response,
  signal: AbortSignal,
): AsyncIterable<Frame> {
  for await (const { data, id, event } of readMessages(response, signal)) {
    const isEmpty = data.trim() === "" || data.trim() === "[DONE]";
    if (isEmpty || KEEP_ALIVE.test(event ?? "")) continue;
    const frame = readJson(data);
    if (event === "error" && !isObject(frame.result)) {
      throw new ConnectError(`the agent failed: ${data.trim()}`, Code.Internal);
    }
    yield { ...frame, id };
  }
}

const KEEP_ALIVE = /^(ping|heartbeat|keep-?alive)$/i;

function readJson(data: string): Omit<Frame, "id"> {
  try {
    return { result: parseAnswer(data) };
  } catch (reason) {
    return {
      result: undefined,
      leftOut: [ConnectError.from(reason).rawMessage],
    };
  }
}

async function* readMessages(
  response: Response,
  signal: AbortSignal,
): AsyncIterable<EventSourceMessage> {
  const parser = new EventSourceParserStream({
    maxBufferSize: MAX_FRAME_CHARS,
  });
  const reader = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(parser)
    .getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await waitFor(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
