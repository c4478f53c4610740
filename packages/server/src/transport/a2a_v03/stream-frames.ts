import type { HttpResponse } from "../route.ts";
import type { Frame } from "./methods.ts";
import { SseStream } from "./sse.ts";

/** How a binding writes a stream. */
export interface StreamForm {
  readonly headers: Readonly<Record<string, string>>;
  readonly heartbeatMs: number;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
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
  const first = await iterator.next();
  using sse = new SseStream(response, form.headers, form.heartbeatMs);
  try {
    for (let next = first; !next.done && !response.destroyed; next = await iterator.next()) {
      const full = sse.send(form.data(next.value.result), next.value.id);
      if (full) await full;
    }
  } catch (reason) {
    // When the server stops, the stream breaks off: its client resumes, where a good end would say that all was told.
    if (form.shutdown.aborted) return void response.destroy();
    if (!response.destroyed) await sse.sendError(form.error(reason), form.errorEvent);
  } finally {
    await iterator.return?.();
  }
  await sse.end();
}
