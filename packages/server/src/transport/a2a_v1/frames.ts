import type { TaskEvent } from "@devtool/schema";
import { encodeA2aJson, type StreamResponse, StreamResponseSchema, streamResponseOf } from "@devtool/schema/a2a-v1";
import type { StreamView } from "@devtool/schema/a2a-v03";

const RESPONSES: Readonly<Record<StreamView, WeakMap<TaskEvent, StreamResponse | null>>> = {
  extension: new WeakMap(),
  plain: new WeakMap(),
};

const SEQUENCES = new WeakMap<StreamResponse, bigint>();
const TEXTS = new WeakMap<StreamResponse, string>();

/** An event as an element of a stream, made once for all its readers; undefined when the view shows nothing of it. */
export function responseOf(event: TaskEvent, view: StreamView): StreamResponse | undefined {
  const cached = RESPONSES[view].get(event);
  if (cached !== undefined) return cached ?? undefined;
  const response = streamResponseOf(event, view);
  RESPONSES[view].set(event, response ?? null);
  return response && withSequence(response, event.sequence);
}

/** Notes which sequence an element of a stream stands for: the id by which a client resumes. */
export function withSequence(response: StreamResponse, sequence: bigint): StreamResponse {
  SEQUENCES.set(response, sequence);
  return response;
}

/** The sequence that an element of a stream stands for. */
export function sequenceOf(response: StreamResponse): bigint | undefined {
  return SEQUENCES.get(response);
}

/** The JSON text of an element of a stream, made once for all its readers. */
export function textOf(response: StreamResponse): string {
  const known = TEXTS.get(response);
  if (known !== undefined) return known;
  const text = JSON.stringify(encodeA2aJson(StreamResponseSchema, response));
  TEXTS.set(response, text);
  return text;
}
