import { isMessage } from "@bufbuild/protobuf";
import { SEQUENCE_URI, type TaskEvent } from "@devtool/schema";
import {
  encodeA2aJson,
  type StreamResponse,
  StreamResponseSchema,
  streamResponseOf,
} from "@devtool/schema/a2a-v1";
import type { StreamView } from "@devtool/schema/a2a-v03";
import type { Frame } from "../http/answer.ts";

/**
 * An element of a stream with the sequence of its event: the id by which a
 * client resumes, for which A2A has no field.
 */
export interface SequencedResponse extends StreamResponse {
  readonly sequence: bigint;

  readonly view: StreamView;

  /**
   * The JSON text of an element that has several readers; empty until the first
   * of them needs it. Undefined for an element with a single reader.
   */
  readonly shared?: { text: string };
}

/**
 * Returns an event as an element of a stream; undefined for an event that the
 * view does not show.
 */
export type ResponseFor = (
  event: TaskEvent,
  view: StreamView,
) => SequencedResponse | undefined;

/**
 * Returns an event as an element of a stream that several readers may share.
 */
export function streamResponseFor(
  event: TaskEvent,
  view: StreamView,
): SequencedResponse | undefined {
  const response = streamResponseOf(event, view);
  return (
    response && {
      ...response,
      sequence: event.sequence,
      view,
      shared: { text: "" },
    }
  );
}

/**
 * Returns the frame of an element. The text of a shared element is encoded only
 * once.
 */
export function frameFrom(response: StreamResponse | SequencedResponse): Frame {
  if (!("sequence" in response)) return { result: encodeResponse(response) };
  const { shared, sequence } = response;
  if (!shared) return { result: encodeResponse(response), id: sequence };
  shared.text ||= encodeResponse(response);
  return { result: shared.text, id: sequence };
}

/**
 * Returns an element with the sequence of its event in the metadata (STREAM-3),
 * where the client sees the extension (CARD-3).
 */
export function withSequence<T extends object>(response: T): T {
  if (!isSequenced(response) || response.view === "plain") return response;
  const { payload, sequence } = response;
  if (payload.case === undefined) return response;
  const metadata = {
    ...payload.value.metadata,
    [SEQUENCE_URI]: String(sequence),
  };
  return {
    ...response,
    payload: { ...payload, value: { ...payload.value, metadata } },
  };
}

function isSequenced<T extends object>(
  response: T,
): response is T & SequencedResponse {
  return "sequence" in response && isMessage(response, StreamResponseSchema);
}

/** Returns the JSON text of an element of a stream. */
export function encodeResponse(response: StreamResponse): string {
  return JSON.stringify(encodeA2aJson(StreamResponseSchema, response));
}
