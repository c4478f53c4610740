import type { FetchLike } from "@modelcontextprotocol/client";

/** The maximum size of a message of an MCP server, in bytes: 8 MiB. */
export const MAX_MESSAGE_BYTES: number = 8 * 1024 * 1024;

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

/**
 * Returns a fetch whose responses fail when a message in them is too long.
 *
 * A message is a whole JSON body, or the part of an event stream between two
 * empty lines.
 */
export function boundedFetch(
  fetch: FetchLike,
  maxBytes: number = MAX_MESSAGE_BYTES,
): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.body) return response;
    const isJson = /^application\/json\b/i.test(
      response.headers.get("content-type") ?? "",
    );
    const body = response.body.pipeThrough(
      new TransformStream(
        new MessageLimit(maxBytes, isJson ? "body" : "event"),
      ),
    );
    return withBody(response, body);
  };
}

/**
 * Returns a copy of a response with another body. With a `type` it is that of a
 * success: the SDK ignores what has another status, such as 202.
 */
export function withBody(
  response: Response,
  body: ReadableStream | string,
  type?: string,
): Response {
  const headers = new Headers(response.headers);
  if (type !== undefined) headers.set("content-type", type);
  const { statusText } = response;
  const status = type === undefined ? response.status : 200;
  const copy = new Response(body, { status, statusText, headers });
  // The SDK checks redirects by these, which a response that is constructed
  // does not have.
  Object.defineProperty(copy, "url", { value: response.url });
  Object.defineProperty(copy, "redirected", { value: response.redirected });
  return copy;
}

/** Passes bytes through, and fails when a message has more than the maximum. */
class MessageLimit {
  readonly #maxBytes: number;
  readonly #message: "body" | "event";
  #length = 0;
  #isLineEmpty = true;

  constructor(maxBytes: number, message: "body" | "event") {
    this.#maxBytes = maxBytes;
    this.#message = message;
  }

  transform(
    chunk: Uint8Array,
    controller: TransformStreamDefaultController<Uint8Array>,
  ): void {
    if (this.#message === "body") {
      this.#length += chunk.length;
    } else {
      // Counts the bytes since the last empty line.
      for (const byte of chunk) {
        this.#length++;
        if (byte === NEWLINE) {
          if (this.#isLineEmpty) this.#length = 0;
          this.#isLineEmpty = true;
        } else if (byte !== CARRIAGE_RETURN) {
          this.#isLineEmpty = false;
        }
        if (this.#length > this.#maxBytes) break;
      }
    }
    if (this.#length > this.#maxBytes) {
      throw new Error(`it sent a message of more than ${this.#maxBytes} bytes`);
    }
    controller.enqueue(chunk);
  }
}
