import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { Code, DevtoolError, quoted } from "../../errors.ts";
import { type HttpRequest, headerOf } from "./route.ts";

/** Reads the body of a request as text. Throws `BodyTooLarge` past a number of bytes, without reading on. */
export async function readBody(request: HttpRequest, maxBytes: number): Promise<string> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) throw tooLarge(declared, maxBytes);
  const readable: Readable = request;
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > maxBytes) request.destroy(tooLarge(size, maxBytes));
    else chunks.push(chunk);
  };
  request.on("data", take);
  // A loop over the request would leave its listeners behind, a kilobyte of them for as long as the response lasts.
  await finished(readable, { writable: false, cleanup: true });
  request.off("data", take);
  return Buffer.concat(chunks).toString("utf8");
}

function tooLarge(bytes: number, maxBytes: number): BodyTooLarge {
  return new BodyTooLarge(`the body has ${bytes} bytes or more: limit is ${maxBytes}`, Code.InvalidArgument);
}

/** A body past the limit; apart from other errors, because HTTP has a status for it. */
export class BodyTooLarge extends DevtoolError {}

/** A body of another type than JSON; apart from other errors, because HTTP has a status for it. */
export class UnsupportedMediaType extends DevtoolError {}

/** Throws an `UnsupportedMediaType` when a request does not say that its body is JSON. */
export function assertJson(request: HttpRequest): void {
  if (hasJsonType(request)) return;
  const type = headerOf(request, "content-type");
  throw new UnsupportedMediaType(`content type ${quoted(type)} is not taken`, Code.InvalidArgument, {
    remedy: "send application/json",
  });
}

/** Whether a request says that its body is JSON. */
export function hasJsonType(request: HttpRequest): boolean {
  return /^application\/(json|a2a\+json)\s*(;|$)/i.test(headerOf(request, "content-type"));
}
