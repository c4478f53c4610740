import type { JsonObject } from "@bufbuild/protobuf";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
} from "@devtool/internal/json";
import { createParser } from "eventsource-parser";
import { listField, objectField } from "./answer-calls.ts";
import { INFINITE, replaceInexactNumbers } from "./exact-json.ts";
import { type ReadApiError, statusFault } from "./http-fault.ts";
import { brokenFault, ModelFault } from "./model-fault.ts";

/** The form of an API's answers. */
export interface ApiForm {
  readonly readError: ReadApiError;
  /**
   * The names of the lists that an answer may have, such as `choices`. An answer
   * in one piece has one of them.
   */
  readonly lists: readonly string[];
  /**
   * Whether a fault is the cause of a plain error, for an SDK that looks for
   * words such as "timed out" in the errors of its `fetch`. Default: false.
   * `ModelFault.from` finds it there.
   */
  readonly hidesFaults?: boolean;
}

/** The data of events that hold nothing. */
const EMPTY: ReadonlySet<string> = new Set(["", "null"]);

/**
 * Reads a stream of server-sent events as its standard says, and yields each
 * event in the one form that the readers of all SDKs know: its type, if its
 * JSON has one, and its JSON in one line.
 *
 * The readers of the SDKs drop events with names, ids or comments that they do
 * not expect, and with them a part of the answer. `[DONE]` ends the stream.
 * Numbers in the JSON that a double cannot hold exactly become infinite, and
 * calls with one are refused.
 *
 * Throws a `ModelFault` for an event that is not JSON, or that is an error.
 *
 * @param lines not cut within a line; the last one is left out if it is
 */
export async function* normalizeEvents(
  lines: AsyncIterable<string>,
  api: ApiForm,
): AsyncIterable<Uint8Array> {
  const data: string[] = [];
  const parser = createParser({
    onEvent: (event) => data.push(event.data),
    onError: ({ line = "" }) => {
      // Some servers write an error as JSON without `data:`. The standard
      // ignores such lines, and an answer with a hole would be taken for whole.
      if (line.includes("{")) data.push(line);
    },
  });
  for await (const chunk of lines) {
    // A stream that breaks off ends in a line that was cut.
    if (!/[\r\n]$/.test(chunk)) break;
    parser.feed(chunk);
    const done = data.findIndex((json) => json.trim() === "[DONE]");
    yield* encodeEvents(done < 0 ? data.splice(0) : data.slice(0, done), api);
    if (done >= 0) return;
  }
  // The last event need not end in an empty line.
  parser.feed("\n");
  yield* encodeEvents(
    data.filter((json) => json.trim() !== "[DONE]"),
    api,
  );
}

/**
 * Encodes pieces of an answer that came together as one chunk: SDKs take time
 * for each. Those before a fault are passed on first.
 */
function* encodeEvents(
  pieces: readonly string[],
  api: ApiForm,
): Iterable<Uint8Array> {
  let text = "";
  try {
    for (const json of pieces) {
      if (!EMPTY.has(json.trim())) text += encodeEvent(json, api);
    }
  } finally {
    if (text !== "") yield new TextEncoder().encode(text);
  }
}

/**
 * Encodes a piece of an answer as an event. Throws a `ModelFault` for one that
 * is not JSON, or that is an error.
 */
export function encodeEvent(json: string, api: ApiForm): string {
  const piece = parseJsonOrUndefined(json);
  if (piece === undefined) throw brokenFault("the model's answer is not JSON");
  if (!isObject(piece)) throw ModelFault.malformed();
  // Some SDKs change what is not an object into an empty one.
  for (const list of api.lists) listField(piece[list]).map(objectField);
  // Anthropic's SDK drops what has no name.
  const { error, type: named } = piece;
  const type = named ?? (api.lists.includes("content") ? "message" : "");
  if (typeof type !== "string") throw ModelFault.malformed();
  if (type === "error" || error) {
    const apiError = api.readError(json);
    throw statusFault(apiError.status ?? 400, apiError);
  }
  const name = /^[\w.]+$/.test(type) ? `event: ${type}\n` : "";
  // What is valid has line breaks between its tokens only.
  const line = replaceInexactNumbers(
    withoutNulls(json, piece, api),
    INFINITE,
  ).replaceAll(/[\r\n]/g, " ");
  return `${name}data: ${line}\n\n`;
}

/** Returns JSON without null in the lists of an answer: SDKs fail at it. */
function withoutNulls(
  json: string,
  piece: JsonObject,
  { lists }: ApiForm,
): string {
  const list = lists.find((name) => listOrEmpty(piece[name]).includes(null));
  if (list === undefined) return json;
  const exact = objectOrEmpty(parseJsonOrUndefined(quoteInexactNumbers(json)));
  const items = listOrEmpty(exact[list]).filter((item) => item !== null);
  return JSON.stringify({ ...exact, [list]: items });
}
