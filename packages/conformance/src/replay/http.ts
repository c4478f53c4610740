import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { isExtensionUri } from "@devtool/schema";

/** A request over either version of HTTP. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** What it is answered with. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** Tells whether a request names the extension, by the header of A2A 1.0 or by that of 0.3 (CARD-3). */
export function activates({ headers }: HttpRequest): boolean {
  const named = [headers["x-a2a-extensions"], headers["a2a-extensions"]].flat().join(",");
  return named.split(",").some((uri) => isExtensionUri(uri.trim()));
}

/** The whole body of a request, as text. */
export async function textOf(request: HttpRequest): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
