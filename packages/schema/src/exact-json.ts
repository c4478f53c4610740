import { isExactNumber, unescaped } from "@devtool/internal/exact-json";
import { WireError } from "./wire-error.ts";

/**
 * Throws a `WireError` for JSON text that a parser reads as something else than
 * it says: a number whose digits a double cannot hold, and a name that an
 * object has twice (JSON-4).
 *
 * Text that is not valid JSON is left to the parser.
 */
export function assertExactJson(text: string): void {
  const names: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === '"') {
      const end = endOfString(text, at);
      const seen = names.at(-1);
      if (seen && isName(text, end)) noteName(seen, text.slice(at, end));
      at = end - 1;
    } else if (char === "{") {
      names.push(new Set());
    } else if (char === "[") {
      names.push(undefined);
    } else if (char === "}" || char === "]") {
      names.pop();
    } else if (char === "-" || (char >= "0" && char <= "9")) {
      NUMBER.lastIndex = at;
      const [number = char] = NUMBER.exec(text) ?? [];
      if (!isExactNumber(number)) {
        const problem = `the document holds the number ${number.slice(0, 40)}, whose digits would be lost: send it as a string`;
        throw new WireError("", "", problem);
      }
      at += number.length - 1;
    }
  }
}

const NUMBER = /-?[\d.eE+-]*/y;

/** Returns the position behind a string that begins at a position. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let escapes = 0;
    while (text[at - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

/** Returns whether the string that ends at a position is a name. */
function isName(text: string, end: number): boolean {
  COLON.lastIndex = end;
  return COLON.test(text);
}

const COLON = /[ \t\n\r]*:/y;

function noteName(seen: Set<string>, token: string): void {
  // Two spellings of one name are the same name.
  const name = token.includes("\\") ? unescaped(token) : token.slice(1, -1);
  if (seen.has(name)) {
    throw new WireError(name, "", "is given twice in one object: give it once");
  }
  seen.add(name);
}
