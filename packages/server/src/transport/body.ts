import { Code, DevtoolError } from "../errors.ts";
import type { HttpRequest } from "./route.ts";

/** Reads the body of a request as text. Throws `BodyTooLarge` past a number of bytes, without reading on. */
export async function readBody(request: HttpRequest, maxBytes: number): Promise<string> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) throw tooLarge(declared, maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > maxBytes) throw tooLarge(size, maxBytes);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function tooLarge(bytes: number, maxBytes: number): BodyTooLarge {
  return new BodyTooLarge(`the body has ${bytes} bytes or more: limit is ${maxBytes}`, Code.InvalidArgument);
}

/** A body past the limit; apart from other errors, because HTTP has a status for it. */
export class BodyTooLarge extends DevtoolError {}
