import type { FetchLike } from "@modelcontextprotocol/client";
import { MAX_MESSAGE_BYTES } from "./line-reader.ts";

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

/**
 * A fetch whose answers break off when one message in them is too long: a whole JSON body, or what stands between two
 * empty lines of a stream of events.
 */
export function boundedFetch(fetch: FetchLike, maxBytes: number = MAX_MESSAGE_BYTES): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.body) return response;
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    const body = response.body.pipeThrough(new TransformStream(new MessageBound(maxBytes, isJson ? "body" : "event")));
    const { status, statusText, headers } = response;
    const bounded = new Response(body, { status, statusText, headers });
    // A redirect is judged by where the answer came from, which a made response does not say.
    Object.defineProperty(bounded, "url", { value: response.url });
    Object.defineProperty(bounded, "redirected", { value: response.redirected });
    return bounded;
  };
}

/** Lets bytes pass, and fails when a message has too many. */
class MessageBound {
  readonly #maxBytes: number;
  readonly #message: "body" | "event";
  #length = 0;
  #isLineEmpty = true;

  constructor(maxBytes: number, message: "body" | "event") {
    this.#maxBytes = maxBytes;
    this.#message = message;
  }

  transform(chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void {
    if (this.#message === "event") this.#countEvents(chunk);
    else this.#length += chunk.length;
    if (this.#length > this.#maxBytes) throw new Error(`it sent a message of more than ${this.#maxBytes} bytes`);
    controller.enqueue(chunk);
  }

  #countEvents(chunk: Uint8Array): void {
    for (const byte of chunk) {
      this.#length++;
      if (byte === NEWLINE) {
        if (this.#isLineEmpty) this.#length = 0;
        this.#isLineEmpty = true;
      } else if (byte !== CARRIAGE_RETURN) this.#isLineEmpty = false;
      if (this.#length > this.#maxBytes) return;
    }
  }
}
