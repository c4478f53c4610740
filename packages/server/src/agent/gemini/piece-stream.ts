import { Code } from "../../errors.ts";
import { GeminiFault } from "./gemini-fault.ts";
import { parseOrUndefined } from "./json.ts";
import { type Piece, pieceFrom } from "./piece.ts";

/** A line of an answer may have so many characters: more than any piece that can be used. */
const MAX_LINE = 4 * 1024 * 1024;

/** Reads the pieces of an answer from server-sent events. Throws a `GeminiFault` for what is no answer. */
export async function* piecesIn(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncIterable<Piece> {
  for await (const line of linesIn(body)) {
    if (!line.startsWith("data:")) continue;
    const json = parseOrUndefined(line.slice("data:".length));
    if (json === undefined) throw noJson();
    yield pieceFrom(json);
  }
}

/** The lines of a text; what follows the last newline is left out: it is a line that was cut. */
async function* linesIn(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncIterable<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let begun: string[] = [];
  let length = 0;
  for await (const bytes of body) {
    const text = decode(decoder, bytes);
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) {
      const whole = begun.join("") + text.slice(0, end);
      [begun, length] = [[], 0];
      yield* whole.split("\n");
    }
    begun.push(text.slice(end));
    length += text.length - end;
    if (length > MAX_LINE) throw tooLong();
  }
}

function decode(decoder: { decode(bytes: Uint8Array, options: { stream: true }): string }, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (cause) {
    const message = "the model's answer is no UTF-8: send the message again";
    throw new GeminiFault(message, Code.Unavailable, { retriable: true, cause });
  }
}

function noJson(): GeminiFault {
  const message = "the model's answer is no JSON: send the message again";
  return new GeminiFault(message, Code.Unavailable, { retriable: true });
}

function tooLong(): GeminiFault {
  const message = `a piece of the model's answer has more than ${MAX_LINE} characters: limit is ${MAX_LINE}`;
  return new GeminiFault(message, Code.ResourceExhausted);
}
