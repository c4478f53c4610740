import { type EventSourceMessage, EventSourceParserStream } from "eventsource-parser/stream";
import { waitFor } from "./peer.ts";

/** Tells whether a response is a stream of events. */
export function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

/** The events of a response, as they come. Throws what `waitFor` throws; closing the loop closes the connection. */
export async function* serverSentEvents(response: Response, signal: AbortSignal): AsyncIterable<EventSourceMessage> {
  const parser = new EventSourceParserStream({ maxBufferSize: MAX_FRAME_CHARS });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(parser).getReader();
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

/** A frame may have so many characters: twice what a server of ours takes as a whole request. */
const MAX_FRAME_CHARS = 32 * 1024 * 1024;
