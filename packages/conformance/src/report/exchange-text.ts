import type { ExchangeRecord } from "../protos.ts";

/**
 * Renders the request as text.
 */
export function requestText({
  requestLine,
  requestHeaders,
  requestBody,
}: ExchangeRecord): string {
  return messageText(requestLine, requestHeaders, requestBody);
}

/**
 * Renders the answer as text.
 */
export function responseText({
  status,
  responseHeaders,
  responseBody,
}: ExchangeRecord): string {
  return messageText(status || "(nothing)", responseHeaders, responseBody);
}

function messageText(
  line: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): string {
  const named = Object.entries(headers).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return [line, ...named, "", body].join("\n").trimEnd();
}
