import type { JsonValue } from "@bufbuild/protobuf";
import {
  defined,
  isObject,
  parseJsonOrUndefined,
} from "@devtool/internal/json";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { preview } from "../match/match.ts";
import type {
  AnswerDocument,
  Breach,
  OpenStream,
  ServerTrust,
} from "./binding.ts";
import { networkProblem } from "./network-problem.ts";
import type { Recording } from "./recording.ts";
import { StreamWatch } from "./stream-end.ts";

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
  /**
   * Present if the server did not end the stream.
   */
  readonly open?: OpenStream;
  /**
   * What is wrong with the content type, the events or the JSON of the body.
   */
  readonly problem?: string;
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
 * Sends a request and reads the answer. Redirects are not followed. A body that
 * is neither JSON nor a stream of server-sent events is a problem of the answer.
 * Throws what is at the URL if no answer comes.
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
    const { status } = response;
    const mayStream =
      isEventStream(response) || headers.get("accept") === EVENT_STREAM;
    const answer = mayStream
      ? await readEvents(response, { recording, leaveAfter, leave, signal })
      : readDocument(response, await readText(response, recording));
    return { status, headers: response.headers, ...answer };
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(networkProblem(url, cause), { cause });
  } finally {
    leave.abort();
  }
}

/**
 * Returns the breach of a requirement by the content type, the events or the
 * JSON of an answer.
 */
export function contentBreaches(
  { problem, open, documents }: HttpAnswer,
  requirement: string,
): Breach[] {
  if (problem === undefined) return [];
  const isHarmless = documents.length > 0 && open === undefined;
  return [{ requirement, reason: problem, isHarmless, endsCase: !isHarmless }];
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

type AnswerBody = Omit<HttpAnswer, "status" | "headers">;

function typeOf({ headers }: Response): string {
  return headers.get("content-type") ?? "";
}

const EVENT_STREAM = "text/event-stream";

function isEventStream(response: Response): boolean {
  return typeOf(response).startsWith(EVENT_STREAM);
}

/** What a body of server-sent events begins with. */
const EVENT_FIELD = /^(?:data|id|event|retry)?:/;

async function readText(
  response: Response,
  recording: Recording,
): Promise<string> {
  const text = await response.text();
  recording.setResponseBody(text);
  return text;
}

/**
 * Reads a body that is not sent as a stream. Server-sent events under another
 * content type are read as such.
 */
function readDocument(response: Response, text: string): AnswerBody {
  if (text.trim() === "") return { documents: [], isWholeStream: false };
  const type = typeOf(response);
  const json = parseJsonOrUndefined(text);
  if (json !== undefined) {
    const problem = /\bjson\b/.test(type)
      ? undefined
      : `the content type must be application/json: got ${type || "none"}`;
    const documents = [{ id: undefined, json }];
    return { documents, isWholeStream: false, ...defined({ problem }) };
  }
  if (EVENT_FIELD.test(text)) {
    const problem = `the content type must be ${EVENT_STREAM}: got ${type || "none"}`;
    return { ...parseEvents(text), isWholeStream: true, problem };
  }
  const problem = /\bjson\b/.test(type)
    ? `the body is not valid JSON: got ${preview(text, 200)}`
    : `the answer must be JSON: got HTTP ${response.status} with ${type || "no content type"}: ${preview(text, 200)}`;
  return { documents: [], isWholeStream: false, problem };
}

interface Reading {
  readonly recording: Recording;
  readonly leaveAfter: number;
  /**
   * Ends the request.
   */
  readonly leave: AbortController;
  /**
   * The time limit of the case.
   */
  readonly signal: AbortSignal;
}

async function readEvents(
  response: Response,
  { recording, leaveAfter, leave, signal }: Reading,
): Promise<AnswerBody> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  using watch = new StreamWatch(leave);
  let text = "";
  try {
    for await (const chunk of response.body?.pipeThrough(
      new TextDecoderStream(),
    ) ?? []) {
      text += chunk;
      recording.setResponseBody(text);
      parser.feed(chunk);
      if (events.length >= leaveAfter) {
        const read = readData(events.slice(0, leaveAfter));
        const { problem } = readBody(response, text);
        return { ...read, isWholeStream: false, ...defined({ problem }) };
      }
      watch.see(parseJsonOrUndefined(events.at(-1)?.data ?? ""));
    }
  } catch (reason) {
    const open = watch.openStream(signal);
    if (open === undefined) throw reason;
    return { ...readBody(response, text), isWholeStream: false, open };
  }
  return readBody(response, text);
}

function readBody(response: Response, text: string): AnswerBody {
  return isEventStream(response)
    ? { ...parseEvents(text), isWholeStream: true }
    : readDocument(response, text);
}

type Documents = Pick<HttpAnswer, "documents" | "problem">;

/**
 * Reads a whole body of server-sent events.
 */
function parseEvents(text: string): Documents {
  const events: EventSourceMessage[] = [];
  createParser({ onEvent: (event) => events.push(event) }).feed(text);
  const rest = text.split(/\r\n\r\n|\n\n|\r\r/).at(-1) ?? "";
  if (/^data:/m.test(rest)) {
    const problem = `a blank line must end each event of a stream: got none after ${preview(rest, 200)}`;
    return { ...readData(events), problem };
  }
  const isOther =
    events.length === 0 && text.trim() !== "" && !EVENT_FIELD.test(text);
  if (!isOther) return readData(events);
  const problem = `a stream must have server-sent events, "data: " and a blank line: got ${preview(text, 200)}`;
  const json = parseJsonOrUndefined(text);
  const documents = json === undefined ? [] : [{ id: undefined, json }];
  return { documents, problem };
}

/**
 * Parses the data of events, up to the first that is not JSON.
 */
function readData(events: readonly EventSourceMessage[]): Documents {
  const documents: { id: string | undefined; json: JsonValue }[] = [];
  for (const { id, data } of events) {
    const json = parseJsonOrUndefined(data);
    if (json === undefined) {
      const lines = data.split("\n").map(parseJsonOrUndefined);
      const isMerged = lines.length > 1 && !lines.includes(undefined);
      const problem = isMerged
        ? `a blank line must end each event of a stream: got ${lines.length} events in one, ${preview(data, 200)}`
        : `the data of event ${documents.length + 1} is not valid JSON: got ${preview(data, 200)}`;
      return { documents, problem };
    }
    documents.push({ id, json });
  }
  return { documents };
}
