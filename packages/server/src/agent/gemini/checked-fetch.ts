import { Code } from "../../errors.ts";
import { GeminiFault } from "./gemini-fault.ts";
import { httpFault } from "./http-fault.ts";

/** A line of an answer may have so many bytes: more than any answer that can be used. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

const NEWLINE = 0x0a;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * A `fetch` that rejects with a `GeminiFault` for every status but the good ones, and whose body comes in whole lines
 * and fails when it is no UTF-8 or has a line that is too long. The SDK would take both, and looks through a line from
 * its beginning with each piece of it that comes.
 */
export function checkedFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (!response.ok) throw await httpFault(response);
    return response.body ? new Response(response.body.pipeThrough(wholeLines()), response) : response;
  };
}

type Bytes = Uint8Array<ArrayBuffer>;

function wholeLines(): TransformStream<Bytes, Bytes> {
  let line: Bytes[] = [];
  let lineBytes = 0;
  const send = (controller: TransformStreamDefaultController<Bytes>, bytes: Bytes): void => {
    assertUtf8(bytes);
    controller.enqueue(bytes);
  };
  return new TransformStream({
    transform: (chunk, controller) => {
      const end = chunk.lastIndexOf(NEWLINE) + 1;
      if (end > 0) {
        send(controller, joined([...line, chunk.subarray(0, end)]));
        line = [];
        lineBytes = 0;
      }
      const rest = chunk.subarray(end);
      if (rest.length > 0) line.push(rest);
      lineBytes += rest.length;
      if (lineBytes > MAX_LINE_BYTES) throw tooLong();
    },
    flush: (controller) => {
      if (lineBytes > 0) send(controller, joined(line));
    },
  });
}

function joined(pieces: readonly Bytes[]): Bytes {
  const [only] = pieces;
  return pieces.length === 1 && only ? only : Uint8Array.from(Buffer.concat(pieces));
}

function tooLong(): GeminiFault {
  const message = `a piece of the model's answer has more than ${MAX_LINE_BYTES} bytes: limit is ${MAX_LINE_BYTES}`;
  return new GeminiFault(message, Code.ResourceExhausted);
}

function assertUtf8(bytes: Bytes): void {
  try {
    UTF8.decode(bytes);
  } catch (cause) {
    const message = "the model's answer is no UTF-8: send the message again";
    throw new GeminiFault(message, Code.Unavailable, { retriable: true, cause });
  }
}
