import type { JsonValue } from "@bufbuild/protobuf";
import { defined, isObject } from "@devtool/internal/json";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { preview } from "../match/match.ts";
import type { AnswerDocument, ServerTrust } from "./binding.ts";
import type { Recording } from "./recording.ts";

/**
 * An HTTP request.
 */
export interface HttpRequestInit {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/**
 * The answer to an HTTP request.
 */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /**
   * The JSON documents of the body: one, or one per event of a stream.
   */
  readonly documents: readonly {
    readonly id: string | undefined;
    readonly json: JsonValue;
  }[];
  /**
   * Whether the body is a stream of events that was read to its end.
   */
  readonly isWholeStream: boolean;
}

/**
 * Options of `sendHttp`.
 */
export interface SendOptions {
  readonly recording: Recording;
  /**
   * Disconnects after this many events of a stream.
   */
  readonly leaveAfter: number;
  readonly trust: ServerTrust | undefined;
}

/**
 * Builds the headers of a request: the usual ones, the credentials, and the
 * changes of a step, in which an empty value removes a header.
 */
export function requestHeaders(
  usual: Readonly<Record<string, string>>,
  token: string | undefined,
  changes: Readonly<Record<string, string>>,
): Headers {
  const headers = new Headers(usual);
  if (token) headers.set("authorization", `Bearer ${token}`);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") {
      headers.delete(name);
    } else {
      headers.set(name, value);
    }
  }
  return headers;
}

/**
 * Returns the media type to accept for the answer of a method, by its JSON-RPC
 * name in either version of A2A.
 */
export function acceptedType(method: string): string {
  return STREAMING_METHODS.has(method)
    ? "text/event-stream"
    : "application/json";
}

const STREAMING_METHODS: ReadonlySet<string> = new Set([
  "message/stream",
  "tasks/resubscribe",
  "SendStreamingMessage",
  "SubscribeToTask",
]);

/**
 * Sends a request and reads the answer. Redirects are not followed. Throws if
 * the body is not valid JSON.
 */
export async function sendHttp(
  { method, url, headers, body }: HttpRequestInit,
  { recording, leaveAfter, trust }: SendOptions,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  recording.addRequest(`${method} ${url}`, headers, body ?? "");
  const leave = new AbortController();
  try {
    const limit = AbortSignal.any([signal, leave.signal]);
    const { fetch } = trust ?? globalThis;
    const response = await fetch(
      url,
      defined({
        method,
        headers,
        body,
        signal: limit,
        redirect: "manual" as const,
      }),
    );
    recording.setResponse(String(response.status), response.headers);
    const isStream = response.headers
      .get("content-type")
      ?.startsWith("text/event-stream");
    const head = { status: response.status, headers: response.headers };
    if (isStream) {
      return {
        ...head,
        ...(await readEvents(response, recording, leaveAfter)),
      };
    }
    const text = await response.text();
    recording.setResponseBody(text);
    const documents =
      text.trim() === "" ? [] : [{ id: undefined, json: parseJson(text) }];
    return { ...head, documents, isWholeStream: false };
  } finally {
    leave.abort();
  }
}

/**
 * Converts the documents of an answer to objects. Any other value becomes the
 * field `value`.
 */
export function asObjects({ documents }: HttpAnswer): AnswerDocument[] {
  return documents.map(({ id, json }) => ({
    id,
    json: isObject(json) ? json : { value: json },
  }));
}

async function readEvents(
  response: Response,
  recording: Recording,
  leaveAfter: number,
): Promise<Pick<HttpAnswer, "documents" | "isWholeStream">> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  let text = "";
  let isWholeStream = true;
  for await (const chunk of response.body?.pipeThrough(
    new TextDecoderStream(),
  ) ?? []) {
    text += chunk;
    recording.setResponseBody(text);
    parser.feed(chunk);
    isWholeStream = events.length < leaveAfter;
    if (!isWholeStream) break;
  }
  const read = events.slice(0, leaveAfter);
  return {
    documents: read.map(({ id, data }) => ({ id, json: parseJson(data) })),
    isWholeStream,
  };
}

function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`the answer is not valid JSON: got ${preview(text, 200)}`, {
      cause,
    });
  }
}
