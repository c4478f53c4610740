import type { ShellWord } from "./reading.ts";

/**
 * The effects of characters outside quotes. A character without an entry stands
 * for itself.
 */
const UNQUOTED_DOUBTS: ReadonlyMap<string, string> = new Map([
  ["$", "is expanded"],
  ["`", "is expanded"],
  ["*", "is a pattern"],
  ["?", "is a pattern"],
  ["[", "is a pattern"],
  ["(", "is a group"],
  [")", "is a group"],
]);

/**
 * Removes the quotes from a word, independently of any parser.
 *
 * Only a word that is literal under every option of the shell has no doubt. Any
 * other word keeps its text as it is written.
 */
export function literalWord(text: string): ShellWord {
  const value: string[] = [];
  // A tilde is expanded at the start of a word, and after `=` and `:` in a word
  // that looks like an assignment.
  let doubt = /(^|[=:])~/.test(text) ? "is expanded" : undefined;
  const lastBrace = lastExpandedBrace(text);
  for (let at = 0; at < text.length; ) {
    const piece = readPiece(text, at);
    if (text[at] === "{" && at < lastBrace) doubt ??= "is expanded";
    value.push(piece.value);
    doubt ??= piece.doubt;
    at = piece.end;
  }
  if (doubt === undefined) return { value: value.join(""), doubt: undefined };
  return {
    value: text,
    doubt: { kind: "expansion", text: `${JSON.stringify(text)} ${doubt}` },
  };
}

/**
 * Returns the position before which a brace is expanded: a comma or two dots
 * follow it, and then a closing brace. `{}` and `HEAD^{commit}` are not.
 */
function lastExpandedBrace(text: string): number {
  const before = text.slice(0, Math.max(text.lastIndexOf("}"), 0));
  return Math.max(before.lastIndexOf(","), before.lastIndexOf(".."));
}

/** A part of a word that is quoted in one way. */
interface Piece {
  /** The characters that it stands for. */
  readonly value: string;
  /** Where the next piece begins. */
  readonly end: number;
  /** Why the value is not certain. */
  readonly doubt?: string | undefined;
}

/**
 * Reads the quoted string, the escaped character or the single character that
 * begins at a position.
 */
function readPiece(text: string, at: number): Piece {
  const character = text[at] ?? "";
  switch (character) {
    case "'": {
      const close = text.indexOf("'", at + 1);
      if (close < 0) {
        return { value: "", end: text.length, doubt: "has an open quote" };
      }
      return { value: text.slice(at + 1, close), end: close + 1 };
    }
    case '"':
      return readDoubleQuoted(text, at);
    case "\\": {
      const escaped = text[at + 1] ?? "";
      if (escaped === "" || escaped === "\n") {
        return { value: "", end: at + 2, doubt: "spans several lines" };
      }
      return { value: escaped, end: at + 2 };
    }
    default: {
      const letters =
        character > "~" ? "has letters outside quotes" : undefined;
      const doubt = UNQUOTED_DOUBTS.get(character) ?? letters;
      return { value: character, end: at + 1, doubt };
    }
  }
}

function readDoubleQuoted(text: string, at: number): Piece {
  let value = "";
  for (let next = at + 1; next < text.length; next++) {
    const character = text[next] ?? "";
    if (character === '"') return { value, end: next + 1 };
    if (character === "$" || character === "`") {
      return { value, end: text.length, doubt: "is expanded" };
    }
    const follower = text[next + 1] ?? "";
    if (character === "\\" && follower === "\n") {
      return { value, end: text.length, doubt: "spans several lines" };
    }
    // Within double quotes a backslash escapes only these characters, and is
    // itself literal before any other.
    const isEscape =
      character === "\\" && '"\\$`'.includes(follower) && follower !== "";
    value += isEscape ? follower : character;
    if (isEscape) next++;
  }
  return { value, end: text.length, doubt: "has an open quote" };
}
