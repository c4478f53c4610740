import { isUtf8 } from "node:buffer";
import { Code } from "@devtool/server/agent";
import { GeminiFault } from "./gemini-fault.ts";
import { httpFault } from "./http-fault.ts";

/** The maximum size of a line of an answer, in bytes: more than any piece that can be used. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

const NEWLINE = 0x0a;

/**
 * The `fetch` of Google's SDK. Resolves to the answer if its status is 2xx, with a body that the SDK gets in whole lines. Rejects
 * with a `GeminiFault` for any other status: that of the SDK does not have the headers, where the API says how long to wait.
 * The body fails with a `GeminiFault` at what is not UTF-8, which the SDK would read as other characters, and at a line that is too long.
 */
export async function fetchAnswer(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  try {
    // A redirect is a fault, since the key would follow it to another host.
    const answer = await fetch(input, { ...init, redirect: "manual" });
    if (!answer.ok) throw await httpFault(answer);
    return new Response(answer.body && ReadableStream.from(wholeLines(answer.body)), { headers: answer.headers });
  } catch (reason) {
    throw GeminiFault.from(reason);
  }
}

/**
 * Splits a body after newlines, so that no character is cut, and the SDK, which searches all that it has with every chunk, takes
 * linear time. What follows the last newline is left out: it is a line that was cut.
 */
async function* wholeLines(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let begun: Uint8Array[] = [];
  let length = 0;
  for await (const bytes of body) {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      yield* validLines(Buffer.concat([...begun, bytes.subarray(0, end)]));
      [begun, length] = [[], 0];
    }
    begun.push(bytes.subarray(end));
    length += bytes.length - end;
    if (length > MAX_LINE_BYTES) throw tooLong();
  }
}

/** Yields the lines up to the first that is not UTF-8, and throws there. */
function* validLines(lines: Uint8Array): Iterable<Uint8Array> {
  if (isUtf8(lines)) return yield lines;
  for (let from = 0, end = 0; ; from = end) {
    end = lines.indexOf(NEWLINE, from) + 1;
    const line = lines.subarray(from, end);
    if (!isUtf8(line)) throw notUtf8();
    yield line;
  }
}

function notUtf8(): GeminiFault {
  const remedy = "send the message again";
  return new GeminiFault("the model's answer is not UTF-8", Code.Unavailable, { remedy, retriable: true });
}

function tooLong(): GeminiFault {
  const message = `a piece of the model's answer has more than ${MAX_LINE_BYTES} bytes: limit is ${MAX_LINE_BYTES}`;
  return new GeminiFault(message, Code.ResourceExhausted);
}
