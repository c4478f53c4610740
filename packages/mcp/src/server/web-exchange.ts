import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RoutedCall } from "@devtool/server/dialect";

/**
 * Returns a request in the form of the Fetch standard, without its body, which
 * is read already. Its signal aborts when the client is gone.
 */
export function webRequest({ request, path, context }: RoutedCall): Request {
  const { requestHeader: headers, signal } = context;
  const method = request.method ?? "POST";
  return new Request(`http://devtool.invalid${path}`, {
    method,
    headers,
    signal,
    // Whoever reads the body has it in another way.
    ...(method === "POST" && { body: "null" }),
  });
}

/** Sends a response of the Fetch standard, event by event. */
export async function sendWebResponse(
  { response, context, report }: RoutedCall,
  { status, headers, body }: Response,
): Promise<void> {
  const { connection: _hop, ...sent } = Object.fromEntries(headers);
  response.statusCode = status;
  for (const [name, value] of Object.entries(sent)) {
    response.setHeader(name, value);
  }
  if (!body) return void response.end();
  if ("flushHeaders" in response) response.flushHeaders();
  try {
    await pipeline(Readable.fromWeb(body), response);
  } catch (reason) {
    if (!context.signal.aborted) report(reason);
  }
}
