import {
  type EventSourceMessage,
  EventSourceParserStream,
} from "eventsource-parser/stream";
import { waitFor } from "./wire.ts";

/**
 * Maximum length of a frame in characters: room for the largest request
 * devtool's server accepts, repeated in an event.
 */
const MAX_FRAME_CHARS = 32 * 1024 * 1024;

/**
 * Whether a response is a stream of server-sent events.
 */
export function isEventStream(response: Response): boolean {
  return (
    response.headers.get("content-type")?.startsWith("text/event-stream") ??
    false
  );
}

/**
 * Yields the server-sent events of a response as they arrive. Throws as
 * `waitFor` does. Leaving the loop closes the connection.
 */
export async function* readServerSentEvents(
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
