import type { ObservedRequest } from "../../handler/request-handler.ts";
import type { Heartbeats } from "./heartbeats.ts";
import type { HttpResponse, ResponseHeaders } from "./route.ts";
import { SseStream } from "./sse.ts";

/** One event of a stream, encoded once for all its readers. */
export interface Frame {
  /** The `result` of the event as JSON text. */
  readonly result: string;

  /**
   * The sequence of the event in its task's log, sent as the SSE event id.
   *
   * Undefined where another frame of the same event follows, so that a client
   * that resumes after this frame still receives the other one.
   */
  readonly id?: bigint;

  /** The SSE event type. Default: none, which clients read as `message`. */
  readonly event?: string;
}

/** State that all streams of a server share. */
export interface StreamEndpoint {
  /** Sends the keep-alive comments of all streams. */
  readonly heartbeats: Heartbeats;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
}

/** How a dialect writes streams and the errors that end them. */
export interface StreamForm {
  readonly endpoint: StreamEndpoint;

  /** Returns the data of the SSE event for the JSON text of a result. */
  wrap(result: string): string;

  /** Returns the data of the SSE event that reports why a stream ends early. */
  error(reason: unknown): string;

  /**
   * The SSE event type of that error. Default: none, so that it looks like any
   * other event.
   */
  readonly errorEvent?: string;

  /** Hears how the stream ends. Default: nobody. */
  readonly observed?: ObservedRequest | undefined;
}

/**
 * Writes frames as server-sent events until they end or the client disconnects.
 *
 * Rejects when the frames fail before the first one. A later failure is
 * reported to the client as the last event.
 */
export async function streamFrames(
  response: HttpResponse,
  frames: AsyncIterable<Frame>,
  headers: () => ResponseHeaders,
  form: StreamForm,
): Promise<void> {
  const { endpoint, observed } = form;
  const iterator = frames[Symbol.asyncIterator]();
  let next: IteratorResult<Frame> | undefined;
  try {
    next = await iterator.next();
  } catch (reason) {
    observed?.fail(reason);
    throw reason;
  }
  const sse = new SseStream(response, headers(), endpoint.heartbeats);
  try {
    while (!next.done && !response.destroyed) {
      const full = sendFrame(sse, next.value, form);
      if (full) await full;
      // Releases the frame while the stream waits: the first frame is a whole
      // task, and there may be thousands of streams.
      next = undefined;
      next = await iterator.next();
    }
    if (next.done) observed?.succeed();
  } catch (reason) {
    observed?.fail(reason);
    // A stream that is cut off makes its client resume. A regular end would
    // tell the client that nothing is missing.
    if (endpoint.shutdown.aborted) return void response.destroy();
    if (!response.destroyed) {
      await sse.sendError(form.error(reason), form.errorEvent);
    }
  } finally {
    sse[Symbol.dispose]();
    await iterator.return?.();
    observed?.leave();
  }
  await sse.end();
}

/** A function of its own: a variable here would keep the frame meanwhile. */
function sendFrame(
  sse: SseStream,
  { result, id, event }: Frame,
  form: StreamForm,
): Promise<void> | undefined {
  return sse.send(form.wrap(result), id, event);
}
