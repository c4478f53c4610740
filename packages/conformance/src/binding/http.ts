import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { Answered, ServerTrust } from "./binding.ts";
import type { Recording } from "./recording.ts";

/** A request of HTTP. */
export interface HttpRequestInit {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** What came back for a request of HTTP. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON documents of the body: one, or one for each event of a stream. */
  readonly documents: readonly { readonly id: string | undefined; readonly json: JsonValue }[];
  /** Whether the body is a stream of events, and was read to its end. */
  readonly isWholeStream: boolean;
}

/** The headers of a request: what a client sends, what credentials add, and what a step changes. */
export function headersOf(
  usual: Readonly<Record<string, string>>,
  { token, changes }: { readonly token: string | undefined; readonly changes: Readonly<Record<string, string>> },
): Headers {
  const headers = new Headers({ ...usual, ...(token && { authorization: `Bearer ${token}` }) });
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") headers.delete(name);
    else headers.set(name, value);
  }
  return headers;
}

/** How a request is sent, and what is kept of it. */
export interface SendOptions {
  readonly recording: Recording;
  /** Leaves after this many events of a stream. */
  readonly leaveAfter: number;
  readonly trust: ServerTrust | undefined;
}

/** Sends a request and reads what comes back, of a stream at most `leaveAfter` events. Throws when a body is no JSON. */
export async function sendHttp(
  { method, url, headers, body }: HttpRequestInit,
  { recording, leaveAfter, trust }: SendOptions,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  recording.sent(`${method} ${url}`, headers, body ?? "");
  const leave = new AbortController();
  const both = AbortSignal.any([signal, leave.signal]);
  try {
    const init = { method, headers, signal: both, ...(body !== undefined && { body }) };
    const { fetch } = trust ?? globalThis;
    const response = await fetch(url, { ...init, redirect: "manual" });
    recording.answered(String(response.status), response.headers);
    const read = isEventStream(response) ? readEvents : readDocument;
    return { status: response.status, headers: response.headers, ...(await read(response, recording, leaveAfter)) };
  } finally {
    leave.abort();
  }
}

function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

type Read = Pick<HttpAnswer, "documents" | "isWholeStream">;

async function readDocument(response: Response, recording: Recording): Promise<Read> {
  const text = await response.text();
  recording.received(text);
  return { documents: text.trim() === "" ? [] : [{ id: undefined, json: parsed(text) }], isWholeStream: false };
}

async function readEvents(response: Response, recording: Recording, leaveAfter: number): Promise<Read> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  let text = "";
  let isWholeStream = true;
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    recording.received(text);
    parser.feed(chunk);
    isWholeStream = events.length < leaveAfter;
    if (!isWholeStream) break;
  }
  const kept = events.slice(0, leaveAfter);
  return { documents: kept.map(({ id, data }) => ({ id, json: parsed(data) })), isWholeStream };
}

/** The documents of an answer as objects; any other value stands under `value`. */
export function objectsIn({ documents }: HttpAnswer): Answered[] {
  return documents.map(({ id, json }) => ({ id, json: objectOf(json) }));
}

function objectOf(json: JsonValue): JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json) ? json : { value: json };
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`what came back is no JSON: ${JSON.stringify(text.slice(0, 200))}`, { cause });
  }
}
