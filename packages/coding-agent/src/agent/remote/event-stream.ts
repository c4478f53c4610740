import {
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/schema/json";
import { createParser } from "eventsource-parser";
import { notJsonFault } from "./answer-calls.ts";
import { INFINITE, replaceInexactNumbers } from "./exact-json.ts";

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
 * Throws a `ModelFault` for an event that is not JSON.
 *
 * @param lines UTF-8, not cut within a line
 */
export async function* normalizeEvents(
  lines: AsyncIterable<Uint8Array>,
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
  const decoder = new TextDecoder();
  for await (const chunk of lines) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    for (const json of data.splice(0)) {
      if (json.trim() === "[DONE]") return;
      if (!EMPTY.has(json.trim())) yield encodeEvent(json);
    }
  }
  // The last event need not end in an empty line.
  parser.feed("\n");
  for (const json of data) {
    if (!EMPTY.has(json.trim()) && json.trim() !== "[DONE]") {
      yield encodeEvent(json);
    }
  }
}

function encodeEvent(json: string): Uint8Array {
  const piece = parseJsonOrUndefined(json);
  if (piece === undefined) throw notJsonFault(new SyntaxError("not JSON"));
  const type = stringOrEmpty(objectOrEmpty(piece).type);
  const name = /^[\w.]+$/.test(type) ? `event: ${type}\n` : "";
  // What is valid has line breaks between its tokens only.
  const line = replaceInexactNumbers(json, INFINITE).replaceAll("\n", " ");
  return new TextEncoder().encode(`${name}data: ${line}\n\n`);
}
