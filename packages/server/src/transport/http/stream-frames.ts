import type { Frame } from "./answer.ts";
import type { Heartbeats } from "./heartbeats.ts";
import type { HttpResponse } from "./route.ts";
import { SseStream } from "./sse.ts";

/** What the streams of a server share. */
export interface StreamEndpoint {
  readonly heartbeats: Heartbeats;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
}

/** How a binding writes a stream. */
export interface StreamForm {
  /** Headers beside those of SSE; called once the first frame was made. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly endpoint: StreamEndpoint;
  /** The text of an event that holds a result. */
  data(result: string): string;
  /** The text of the event that says why the stream ends. */
  error(reason: unknown): string;
  /** The name of the event that says why the stream ends; none when it is an event like the others. */
  readonly errorEvent?: string;
}

/** Streams frames. What fails before the first is thrown; what fails later is an error as the last frame. */
export async function streamFrames(
  response: HttpResponse,
  frames: AsyncIterable<Frame>,
  form: StreamForm,
): Promise<void> {
  const iterator = frames[Symbol.asyncIterator]();
  let next: IteratorResult<Frame> | undefined = await iterator.next();
  const sse = new SseStream(response, form.headers(), form.endpoint.heartbeats);
  try {
    while (!next.done && !response.destroyed) {
      const full = sse.send(form.data(next.value.result), next.value.id);
      if (full) await full;
      // A stream that waits holds no frame: the first is a whole task, and there may be thousands of streams.
      next = undefined;
      next = await iterator.next();
    }
  } catch (reason) {
    // When the server stops, the stream breaks off: its client resumes, where a good end would say that all was told.
    if (form.endpoint.shutdown.aborted) return void response.destroy();
    if (!response.destroyed) await sse.sendError(form.error(reason), form.errorEvent);
  } finally {
    sse[Symbol.dispose]();
    await iterator.return?.();
  }
  await sse.end();
}
