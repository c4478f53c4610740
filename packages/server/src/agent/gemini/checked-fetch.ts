import { Code } from "../../errors.ts";
import { GeminiFault } from "./gemini-fault.ts";
import { httpFault } from "./http-fault.ts";

/** A line of an answer may have so many bytes: more than any answer that can be used. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

const NEWLINE = 0x0a;

/**
 * A `fetch` that rejects with a `GeminiFault` for every status but the good ones, and whose body fails when it is no
 * UTF-8 or has a line that is too long: the SDK would take both.
 */
export function checkedFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (!response.ok) throw await httpFault(response);
    return response.body ? new Response(response.body.pipeThrough(bodyCheck()), response) : response;
  };
}

function bodyCheck(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let lineBytes = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      const newline = chunk.lastIndexOf(NEWLINE);
      lineBytes = newline < 0 ? lineBytes + chunk.length : chunk.length - newline - 1;
      if (lineBytes > MAX_LINE_BYTES) return controller.error(tooLong());
      try {
        decoder.decode(chunk, { stream: true });
        controller.enqueue(chunk);
      } catch (cause) {
        controller.error(notUtf8(cause));
      }
    },
  });
}

function tooLong(): GeminiFault {
  const message = `a piece of the model's answer has more than ${MAX_LINE_BYTES} bytes: limit is ${MAX_LINE_BYTES}`;
  return new GeminiFault(message, Code.ResourceExhausted);
}

function notUtf8(cause: unknown): GeminiFault {
  return new GeminiFault("the model's answer is no UTF-8: send the message again", Code.Unavailable, {
    retriable: true,
    cause,
  });
}
