import type { ExchangeRecord } from "@devtool/schema/conformance";

/** A request and what came back, as text: lines that were sent begin with `>`, those that came with `<`. */
export function exchangeText(record: ExchangeRecord): string {
  return `> ${sentText(record).replaceAll("\n", "\n> ")}\n< ${cameText(record).replaceAll("\n", "\n< ")}`;
}

/** What was sent, as text. */
export function sentText({ requestLine, requestHeaders, requestBody }: ExchangeRecord): string {
  return messageText(requestLine, requestHeaders, requestBody);
}

/** What came back, as text. */
export function cameText({ status, responseHeaders, responseBody }: ExchangeRecord): string {
  return messageText(status || "(nothing)", responseHeaders, responseBody);
}

function messageText(line: string, headers: Readonly<Record<string, string>>, body: string): string {
  const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [line, ...named, "", body].join("\n").trimEnd();
}
