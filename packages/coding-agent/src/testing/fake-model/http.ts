import type { IncomingMessage, ServerResponse } from "node:http";

/** An error response. */
export interface FakeError {
  /** The HTTP status. */
  readonly status: number;
  readonly message: string;
  /** The kind of error in the words of the API. Default: that of the status. */
  readonly type?: string;
  /** The part of the request that is wrong. Default: none. */
  readonly param?: string;
  /**
   * The delay before the next attempt, in milliseconds, for the header
   * `retry-after`. Default: none, and no header.
   */
  readonly retryAfterMs?: number;
}

/**
 * A request that the API refuses: `FakeDialect.read` throws it, and the client
 * gets its error in the form of the API.
 */
export class RequestRefused extends Error {
  readonly error: FakeError;

  constructor(error: FakeError) {
    super(error.message);
    this.error = error;
  }
}

/** Sends a JSON response. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json; charset=UTF-8",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

/** Reads a request body as JSON. An empty body is an empty object. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length > 0
    ? JSON.parse(Buffer.concat(chunks).toString("utf8"))
    : {};
}
