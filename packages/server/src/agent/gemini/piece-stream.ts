import { Code } from "../../errors.ts";
import { GeminiFault } from "./gemini-fault.ts";
import { parseOrUndefined } from "./json.ts";
import { type Piece, pieceFrom } from "./piece.ts";

/** A line of an answer may have so many bytes: more than any piece that can be used. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

const NEWLINE = 0x0a;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Reads the pieces of an answer from server-sent events. Throws a `GeminiFault` for what is no answer. */
export async function* piecesIn(body: AsyncIterable<Uint8Array>): AsyncIterable<Piece> {
  for await (const line of linesIn(body)) {
    if (!line.startsWith("data:")) continue;
    const json = parseOrUndefined(line.slice("data:".length));
    if (json === undefined) throw noJson();
    yield pieceFrom(json);
  }
}

/** The lines of a text; what follows the last newline is left out: it is a line that was cut. */
async function* linesIn(body: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  let begun: Uint8Array[] = [];
  let length = 0;
  for await (const bytes of body) {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      yield* linesOf(Buffer.concat([...begun, bytes.subarray(0, end)]));
      [begun, length] = [[], 0];
    }
    begun.push(bytes.subarray(end));
    length += bytes.length - end;
    if (length > MAX_LINE_BYTES) throw tooLong();
  }
}

/** Decodes whole lines, all at once; one by one when one of them is no UTF-8, so that those before it are read. */
function* linesOf(bytes: Uint8Array): Iterable<string> {
  const text = decode(bytes);
  if (text !== undefined) return yield* text.split("\n");
  for (let from = 0, end = 0; from < bytes.length; from = end) {
    end = bytes.indexOf(NEWLINE, from) + 1;
    const line = decode(bytes.subarray(from, end));
    if (line === undefined) throw noUtf8();
    yield line;
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

function noUtf8(): GeminiFault {
  const message = "the model's answer is no UTF-8: send the message again";
  return new GeminiFault(message, Code.Unavailable, { retriable: true });
}

function noJson(): GeminiFault {
  const message = "the model's answer is no JSON: send the message again";
  return new GeminiFault(message, Code.Unavailable, { retriable: true });
}

function tooLong(): GeminiFault {
  const message = `a piece of the model's answer has more than ${MAX_LINE_BYTES} bytes: limit is ${MAX_LINE_BYTES}`;
  return new GeminiFault(message, Code.ResourceExhausted);
}
