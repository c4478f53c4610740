import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { type Io, isTerminal } from "../io.ts";

/** Ways to show a piece of text. */
export type Look = "heading" | "dim" | "added" | "removed" | "good" | "bad" | "plain";

/** Shows text in a way; without colours, as it is. */
export type Paint = (look: Look, text: string) => string;

/** Paints with colours what goes to a terminal that has them, unless the person forbids them (NO_COLOR). */
export function paintFor({ stdout, env }: Pick<Io, "stdout" | "env">, stream: Writable = stdout): Paint {
  const isColoured = isTerminal(stream) && env.TERM !== "dumb" && !env.NO_COLOR;
  return isColoured ? (look, text) => styleText(FORMATS[look], text, { validateStream: false }) : (_look, text) => text;
}

const FORMATS = {
  heading: "bold",
  dim: "dim",
  added: "green",
  removed: "red",
  good: "green",
  bad: "red",
  plain: "reset",
} as const;

/**
 * Makes text from outside safe to show: what would move the cursor, change the terminal or hide and reorder characters
 * is shown as its code. Lines and tabs stay, and so do joiners where letters and emoji need them. For what a person
 * approves use `visibleText`, which is stricter.
 */
export function visible(text: string): string {
  return text.replaceAll(UNSAFE, (char) =>
    char === "\n" || char === "\t" ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Makes a name from outside safe to show in one line, whole: a line break in it is shown as its code, too. */
export function visibleName(name: string): string {
  return visible(name).replaceAll("\n", "\\u{a}");
}

/** Makes a line of JSON safe to show at a terminal: the same characters, as JSON escapes them. It reads the same. */
export function visibleJson(json: string): string {
  return json.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
    char === "\n" ? char : char.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

/** Joins emoji to one: `👩‍👧`. */
const EMOJI_JOINER = /(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})/u
  .source;
/** The scripts whose letters are written with joiners and non-joiners between them. */
const JOINED_SCRIPTS = ["Arab", "Beng", "Deva", "Gujr", "Guru", "Knda", "Mlym", "Orya", "Sinh", "Taml", "Telu"]
  .map((script) => `\\p{sc=${script}}`)
  .join("");
const LETTER_JOINER = `(?<=[${JOINED_SCRIPTS}]\\p{M}*)[\u200c\u200d](?=[${JOINED_SCRIPTS}])`;
const UNSAFE = new RegExp(`(?!${EMOJI_JOINER}|${LETTER_JOINER})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]`, "gu");
