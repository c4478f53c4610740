import { html, type Markup } from "./markup.ts";

/**
 * The documents that requirements come from, by the prefix of a source.
 */
const DOCUMENTS: Readonly<Record<string, string>> = {
  "A2A 0.3": "https://a2a-protocol.org/v0.3.0/specification/",
  "A2A 1.0": "https://a2a-protocol.org/v1.0.0/specification/",
  "JSON-RPC 2.0": "https://www.jsonrpc.org/specification",
  ProtoJSON: "https://protobuf.dev/programming-guides/json/",
  RFC: "https://github.com/google-gemini/gemini-cli/blob/13779c46c8b205acd2d44c49a55f822b222a81d6/packages/a2a-server/development-extension-rfc.md",
};

/**
 * Renders the source of a requirement with links to the documents. The source
 * `own` has none.
 */
export function sourceLinks(source: string): Markup {
  const [first = "", ...rest] = source.split("; ");
  return html`${linkPart(first)}${rest.map((part) => html`; ${linkPart(part)}`)}`;
}

function linkPart(part: string): Markup {
  const [, address] =
    Object.entries(DOCUMENTS).find(([name]) => part.startsWith(name)) ?? [];
  return address === undefined
    ? html`${part}`
    : html`<a href="${address}">${part}</a>`;
}
