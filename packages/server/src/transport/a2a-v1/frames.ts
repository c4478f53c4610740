import type { TaskEvent } from "@devtool/schema";
import { encodeA2aJson, type StreamResponse, StreamResponseSchema, streamResponseOf } from "@devtool/schema/a2a-v1";
import type { StreamView } from "@devtool/schema/a2a-v03";
import type { Frame } from "../http/answer.ts";

/** An element of a stream, with the sequence that it stands for: the id by which a client resumes, which has no field in A2A. */
export interface SequencedResponse extends StreamResponse {
  readonly sequence: bigint;
  /** Its text, once a reader needed it, where an event has several readers. */
  readonly shared?: { text: string };
}

/** Makes the element of a stream for an event. */
export type ResponseOf = (event: TaskEvent, view: StreamView) => SequencedResponse | undefined;

/** An event as an element of a stream; undefined when the view shows nothing of it. */
export function responseOf(event: TaskEvent, view: StreamView): SequencedResponse | undefined {
  const response = streamResponseOf(event, view);
  return response && { ...withSequence(response, event.sequence), shared: { text: "" } };
}

/** An element of a stream with the sequence that it stands for. */
export function withSequence(response: StreamResponse, sequence: bigint): SequencedResponse {
  return { ...response, sequence };
}

/** An element of a stream as the frame that is written for it. */
export function frameOf(response: StreamResponse | SequencedResponse): Frame {
  if (!("sequence" in response)) return { result: textOf(response) };
  const { shared, sequence } = response;
  if (!shared) return { result: textOf(response), id: sequence };
  shared.text ||= textOf(response);
  return { result: shared.text, id: sequence };
}

/** The JSON text of an element of a stream. */
export function textOf(response: StreamResponse): string {
  return JSON.stringify(encodeA2aJson(StreamResponseSchema, response));
}
