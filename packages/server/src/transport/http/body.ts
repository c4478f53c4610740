import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { Code, DevtoolError, quoted } from "../../errors.ts";
import { type HttpRequest, headerOf } from "./route.ts";

/**
 * A request body above the size limit.
 *
 * A class of its own because HTTP has a status for it: 413.
 */
export class BodyTooLarge extends DevtoolError {
  constructor(bytes: number, maxBytes: number) {
    super(
      `the body has ${bytes} bytes or more: limit is ${maxBytes}`,
      Code.InvalidArgument,
    );
  }
}

/**
 * A request body that is not JSON by its media type.
 *
 * A class of its own because HTTP has a status for it: 415.
 */
export class UnsupportedMediaType extends DevtoolError {}

/**
 * Reads the body of a request as UTF-8 text.
 *
 * Throws `BodyTooLarge` as soon as the body, or its declared length, exceeds
 * `maxBytes`, without reading the rest.
 */
export async function readBody(
  request: HttpRequest,
  maxBytes: number,
): Promise<string> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) throw new BodyTooLarge(declared, maxBytes);
  const readable: Readable = request;
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > maxBytes) {
      request.destroy(new BodyTooLarge(size, maxBytes));
    } else {
      chunks.push(chunk);
    }
  };
  request.on("data", take);
  // `for await` would leave its listeners on the request: a kilobyte for as
  // long as the response lasts.
  await finished(readable, { writable: false, cleanup: true });
  request.off("data", take);
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Throws `UnsupportedMediaType` unless the content type of a request is
 * `application/json` or `application/a2a+json`.
 */
export function assertJson(request: HttpRequest): void {
  const type = headerOf(request, "content-type");
  if (/^application\/(json|a2a\+json)\s*(;|$)/i.test(type)) return;
  throw new UnsupportedMediaType(
    `content type ${quoted(type)} is not supported`,
    Code.InvalidArgument,
    {
      remedy: "send application/json",
    },
  );
}
