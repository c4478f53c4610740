import type { JsonValue } from "@bufbuild/protobuf";
import type { Heartbeats } from "./heartbeats.ts";
import { type HttpResponse, type ResponseHeaders, send } from "./route.ts";
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
}

/** The answer of a method: a single result, or a stream of frames. */
export type Answer =
  | { readonly case: "result"; readonly value: JsonValue }
  | { readonly case: "stream"; readonly value: AsyncIterable<Frame> };

/** An answer, and the response headers that its method sets. */
export interface Answered {
  readonly answer: Answer;

  /**
   * Returns the headers. They are complete once the result, or the first frame
   * of the stream, exists: a method that streams may set headers until then.
   */
  readonly headers: () => ResponseHeaders;
}

/** State that all streams of a server share. */
export interface StreamEndpoint {
  /** Sends the keep-alive comments of all streams. */
  readonly heartbeats: Heartbeats;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
}

/** How a binding writes answers, streams and the errors that end them. */
export interface AnswerForm {
  readonly endpoint: StreamEndpoint;

  /**
   * Returns what is sent for the JSON text of a result: a response body, or the
   * data of one SSE event.
   */
  wrap(result: string): string;

  /**
   * Returns the body of a single result. Default: `wrap` of the JSON text of
   * the result.
   */
  readonly body?: (value: JsonValue) => string;

  /** Returns the data of the SSE event that reports why a stream ends early. */
  error(reason: unknown): string;

  /**
   * The SSE event type of that error. Default: none, so that it looks like any
   * other event.
   */
  readonly errorEvent?: string;

  /** The media type of a single result. Default: `application/json`. */
  readonly contentType?: string;
}

/**
 * Writes an answer in the form of a binding. The promise, if any, resolves once
 * a whole stream is written.
 *
 * Rejects when a stream fails before its first frame: the caller can still
 * answer with an error of its own.
 */
export function writeAnswer(
  response: HttpResponse,
  { answer, headers }: Answered,
  form: AnswerForm,
): Promise<void> | undefined {
  if (answer.case === "stream") {
    return streamFrames(response, answer.value, headers, form);
  }
  const body =
    form.body?.(answer.value) ?? form.wrap(JSON.stringify(answer.value));
  send(response, 200, { body, "content-type": form.contentType, ...headers() });
  return undefined;
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
  form: AnswerForm,
): Promise<void> {
  const iterator = frames[Symbol.asyncIterator]();
  let next: IteratorResult<Frame> | undefined = await iterator.next();
  const sse = new SseStream(response, headers(), form.endpoint.heartbeats);
  try {
    while (!next.done && !response.destroyed) {
      const full = sse.send(form.wrap(next.value.result), next.value.id);
      if (full) await full;
      // Releases the frame while the stream waits: the first frame is a whole
      // task, and there may be thousands of streams.
      next = undefined;
      next = await iterator.next();
    }
  } catch (reason) {
    // A stream that is cut off makes its client resume. A regular end would
    // tell the client that nothing is missing.
    if (form.endpoint.shutdown.aborted) return void response.destroy();
    if (!response.destroyed) {
      await sse.sendError(form.error(reason), form.errorEvent);
    }
  } finally {
    sse[Symbol.dispose]();
    await iterator.return?.();
  }
  await sse.end();
}
