import { splitJson } from "@devtool/internal/exact-json";
import { objectOrEmpty, parseJsonOrUndefined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import { Code } from "@devtool/server/agent";
import { type ApiForm, encodeEvent, normalizeEvents } from "./event-stream.ts";
import { type ReadApiError, statusFault } from "./http-fault.ts";
import { ModelFault } from "./model-fault.ts";

/** An answer whose status is 2xx. */
export interface HttpAnswer {
  /** The text, not cut within a line. Only the end may lack a line end. */
  readonly lines: AsyncGenerator<string>;
  /** The `content-type`; empty for none. */
  readonly mediaType: string;
}

/** How a line of server-sent events begins. */
const FIELD = /^(data|event|id|retry)?(:|$)/;

/** The maximum length of a body that is shown, in characters. */
const MAX_SHOWN_LENGTH = 200;

/**
 * Reads the answer to a request for a stream, and yields its events. An answer
 * that is JSON in one piece becomes one event, and a list of pieces one for
 * each.
 *
 * Throws a `ModelFault` with the media type and the API's words for anything
 * else.
 */
export async function* readStream(
  { lines, mediaType }: HttpAnswer,
  api: ApiForm,
): AsyncIterable<Uint8Array> {
  let start = "";
  while (start.trim() === "") {
    const next = await lines.next();
    if (next.done) return;
    start += next.value;
  }
  const line = /^\s*(.*)/.exec(start)?.[1] ?? "";
  const isStream = /^text\/event-stream\b/i.test(mediaType)
    ? !/^[{[<]/.test(line)
    : FIELD.test(line);
  if (isStream) {
    return yield* normalizeEvents(startWith(start, lines), api);
  }
  const text = start + (await Array.fromAsync(lines)).join("");
  if (parseJsonOrUndefined(text) === undefined && isJson(line)) {
    // Some servers write each piece, or one error, as a line of its own.
    const pieces = startWith(`${text}\n`, []);
    return yield* normalizeEvents(pieces, api);
  }
  for (const piece of readWhole({ text, mediaType }, api)) {
    yield new TextEncoder().encode(encodeEvent(piece, api));
  }
}

/**
 * Yields the answer to a request for a list. Throws a `ModelFault` for one that
 * is not JSON.
 */
export async function* readList(
  { lines, mediaType }: HttpAnswer,
  { readError }: ApiForm,
): AsyncIterable<Uint8Array> {
  const text = (await Array.fromAsync(lines)).join("");
  if (!isJson(text)) throw otherAnswerFault({ text, mediaType }, readError);
  yield new TextEncoder().encode(text);
}

async function* startWith(
  start: string,
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncIterable<string> {
  yield start;
  yield* lines;
}

function isJson(text: string): boolean {
  return parseJsonOrUndefined(text) !== undefined;
}

/** A body that is not a stream. */
interface Body {
  readonly text: string;
  readonly mediaType: string;
}

/** Returns the pieces of an answer that is JSON. */
function readWhole(
  body: Body,
  { readError, lists }: ApiForm,
): readonly string[] {
  const value = parseJsonOrUndefined(body.text);
  const pieces = Array.isArray(value) ? value : [value];
  const isAnswer = pieces
    .map(objectOrEmpty)
    .some((piece) => lists.some((name) => Array.isArray(piece[name])));
  if (!isAnswer) throw otherAnswerFault(body, readError);
  return Array.isArray(value)
    ? splitJson(body.text.slice(body.text.indexOf("[") + 1))
    : [body.text];
}

/** Returns the fault for what is not an answer of the API. */
function otherAnswerFault(
  { text, mediaType }: Body,
  readError: ReadApiError,
): ModelFault {
  const error = readError(text);
  if (error.status !== undefined) return statusFault(error.status, error);
  const title = /<title[^>]*>\s*([^<]+)/i.exec(text)?.[1];
  const words = oneLine(error.message || title || text, MAX_SHOWN_LENGTH);
  const [type = ""] = mediaType.split(";", 1);
  return new ModelFault(
    `the model answered with ${oneLine(type, 80) || "no media type"} in place of a stream (${words})`,
    Code.FailedPrecondition,
    { remedy: "the operator must check the address of the model's API" },
  );
}
