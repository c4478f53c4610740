import type { ShellWord } from "./reading.ts";

/** What a character stands for outside quotes; a character without an entry stands for itself. */
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
 * Takes the quotes off a word, by rules of its own: a second opinion on what a parser says. Only what is surely literal
 * has no doubt; anything that a shell might expand, under any option, has one.
 */
export function literalWord(text: string): ShellWord {
  const value: string[] = [];
  let doubt = expandedTilde(text);
  for (let at = 0; at < text.length; ) {
    const piece = pieceAt(text, at);
    value.push(piece.value);
    doubt ??= piece.doubt;
    at = piece.end;
  }
  if (doubt === undefined) return { value: value.join(""), doubt: undefined };
  return { value: text, doubt: { kind: "expansion", text: `${JSON.stringify(text)} ${doubt}` } };
}

interface Piece {
  readonly value: string;
  readonly end: number;
  readonly doubt?: string;
}

function pieceAt(text: string, at: number): Piece {
  const character = text[at] ?? "";
  if (character === "'") return singleQuoted(text, at);
  if (character === '"') return doubleQuoted(text, at);
  if (character === "\\") return escaped(text, at);
  const doubt = UNQUOTED_DOUBTS.get(character) ?? rareDoubt(text.slice(at));
  return { value: character, end: at + 1, ...(doubt !== undefined && { doubt }) };
}

/** Braces are expanded when they hold a comma or two dots; `{}` and `HEAD^{commit}` are not. */
function rareDoubt(rest: string): string | undefined {
  if (/^\{.*(,|\.\.).*\}/s.test(rest)) return "is expanded";
  return /^[^\0-~]/.test(rest) ? "has letters outside quotes" : undefined;
}

function singleQuoted(text: string, at: number): Piece {
  const close = text.indexOf("'", at + 1);
  if (close < 0) return { value: "", end: text.length, doubt: "has an open quote" };
  return { value: text.slice(at + 1, close), end: close + 1 };
}

function doubleQuoted(text: string, at: number): Piece {
  let value = "";
  for (let next = at + 1; next < text.length; next++) {
    const character = text[next] ?? "";
    if (character === '"') return { value, end: next + 1 };
    if (character === "$" || character === "`") return { value, end: text.length, doubt: "is expanded" };
    const follower = text[next + 1] ?? "";
    if (character === "\\" && follower === "\n") return { value, end: text.length, doubt: "goes over lines" };
    const isEscape = character === "\\" && '"\\$`'.includes(follower) && follower !== "";
    value += isEscape ? follower : character;
    if (isEscape) next++;
  }
  return { value, end: text.length, doubt: "has an open quote" };
}

function escaped(text: string, at: number): Piece {
  const follower = text[at + 1] ?? "";
  if (follower === "" || follower === "\n") return { value: "", end: at + 2, doubt: "goes over lines" };
  return { value: follower, end: at + 2 };
}

/** A tilde is expanded at the start, and after `=` and `:`, where the word looks like an assignment. */
function expandedTilde(text: string): string | undefined {
  return /(^|[=:])~/.test(text) ? "is expanded" : undefined;
}
