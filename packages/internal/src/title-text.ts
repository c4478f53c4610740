import { withoutDeceiving } from "./visible-text.ts";

/** Maximum length of a title, in characters (code points). */
export const MAX_TITLE_LENGTH = 80;

/**
 * Length of the text in which a title is looked for, so that a message of
 * megabytes costs nothing.
 */
const MAX_SEARCHED_LENGTH = 16_384;

/**
 * Returns the first line of a text that has visible characters, in the form of
 * a title: without invisible, control and bidirectional characters, except
 * those that hold an emoji together, and with single spaces. It may be longer
 * than a title can be. Empty if there is none.
 */
export function titleLine(text: string): string {
  for (const line of text
    .slice(0, MAX_SEARCHED_LENGTH)
    .split(/[\n\r\v\f\u0085\u2028\u2029]/)) {
    const title = withoutDeceiving(line.replaceAll(/\s+/g, " "))
      .replaceAll(/ +/g, " ")
      .trim();
    if (title !== "") return title;
  }
  return "";
}

/**
 * Returns a title for comparison: titles that differ in case or in forms of the
 * same character become equal.
 */
export function foldTitle(title: string): string {
  return title.normalize("NFKC").toLowerCase();
}
