import { isExactNumber } from "./exact-json.ts";

/** A text that may have an id with more digits than a double holds. */
const LONG_ID = /"(?:id|requestId)"\s*:\s*-?(?:[\d.]{16}|[\d.]+[eE])/;

/** A name with its colon, another string, a number, or a bracket. */
const TOKEN =
  /"[^"\\]*(?:\\.[^"\\]*)*(?:"(?:[ \t\n\r]*:)?|\\?$)|-?\d[\d.eE+-]*|[{}[\]]/gs;

/** How such an id begins as a string, in JSON. */
const MARK = String.raw`\u0000number:`;
const MARKED = /("(?:id|requestId)":)"\\u0000number:(-?[\d.eE+-]+)"/g;

/**
 * Returns messages of JSON-RPC, as JSON texts, in which ids that a double cannot
 * hold with the same digits are strings, so that an answer to them is not one to
 * another id. `unmarkLongIds` makes numbers of them again.
 */
export function markLongIds(text: string): string {
  if (!LONG_ID.test(text)) return text;
  let depth = 0;
  // The depth of a message's own fields: 2 in a list of messages.
  let own = 1;
  let isId = false;
  return text.replaceAll(TOKEN, (token) => {
    const wasId = isId;
    isId = false;
    if (token === "{" || token === "[") {
      if (depth === 0) own = token === "[" ? 2 : 1;
      depth++;
    } else if (token === "}" || token === "]") {
      depth--;
    } else if (token.startsWith('"')) {
      isId =
        (depth === own && /^"id"\s*:/.test(token)) ||
        (depth === own + 1 && /^"requestId"\s*:/.test(token));
    } else if (wasId && !isExactNumber(token)) {
      return `"${MARK}${token}"`;
    }
    return token;
  });
}

/** Returns what `JSON.stringify` wrote with marked ids as numbers again. */
export function unmarkLongIds(text: string): string {
  return text.includes(MARK) ? text.replaceAll(MARKED, "$1$2") : text;
}
