import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { EXTENSION_URI } from "@devtool/schema";
import type { Step } from "@devtool/schema/conformance";
import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Variables } from "./variables.ts";

/** The server under test. */
export interface ServerTarget {
  /** The endpoint of its JSON-RPC transport. */
  readonly url: string;
  /** Its bearer token; none when left out. */
  readonly token?: string;
}

/** One frame of a stream, or the whole answer. */
export interface Answered {
  readonly id: string | undefined;
  readonly json: JsonObject;
}

/** What came back for a step. */
export interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON documents of the body: one, or one for each event of a stream. */
  readonly documents: readonly Answered[];
}

/** Plays the request of a step and takes what comes back. */
export async function play(
  step: Step,
  { target, variables }: { readonly target: ServerTarget; readonly variables: Variables },
  signal: AbortSignal,
): Promise<Exchange> {
  const leave = new AbortController();
  const response = await fetch(urlOf(step, target), {
    ...requestOf(step, variables),
    headers: headersOf(step, { target, variables }),
    signal: AbortSignal.any([signal, leave.signal]),
  });
  const documents = await readDocuments(response, step.leaveAfter || Number.POSITIVE_INFINITY);
  leave.abort();
  return { status: response.status, headers: response.headers, documents };
}

function urlOf({ http }: Step, { url }: ServerTarget): string {
  return http ? new URL(http.path, url).href : url;
}

function requestOf({ http, method, params }: Step, variables: Variables): RequestInit {
  if (http) {
    const verb = http.method || "GET";
    return verb === "GET" ? { method: verb } : { method: verb, body: variables.text(http.body) };
  }
  const filled = params ? { params: variables.fill(toJson(ValueSchema, params)) } : {};
  return { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, ...filled }) };
}

function headersOf(
  { headers, method }: Step,
  { target, variables }: { readonly target: ServerTarget; readonly variables: Variables },
): Headers {
  const result = new Headers({
    "content-type": "application/json",
    accept: STREAMING.has(method) ? "text/event-stream" : "application/json",
    "x-a2a-extensions": EXTENSION_URI,
    ...(target.token !== undefined && { authorization: `Bearer ${target.token}` }),
  });
  for (const [name, value] of Object.entries(headers)) {
    if (value === "") result.delete(name);
    else result.set(name, variables.text(value));
  }
  return result;
}

const STREAMING: ReadonlySet<string> = new Set(["message/stream", "tasks/resubscribe"]);

async function readDocuments(response: Response, limit: number): Promise<Answered[]> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const text = await response.text();
    return text === "" ? [] : [{ id: undefined, json: objectOf(text) }];
  }
  const documents: Answered[] = [];
  const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const reader = events?.getReader();
  while (reader && documents.length < limit) {
    const { done, value } = await reader.read();
    if (done) break;
    documents.push({ id: value.id, json: objectOf(value.data) });
  }
  await reader?.cancel().catch(() => undefined);
  return documents;
}

function objectOf(text: string): JsonObject {
  const json: JsonValue = JSON.parse(text);
  return typeof json === "object" && json !== null && !Array.isArray(json) ? json : { value: json };
}
