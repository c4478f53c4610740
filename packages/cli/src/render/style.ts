import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { IN_EMOJI } from "@devtool/internal/visible-text";
import { type Io, isTerminal } from "../io.ts";

/** Text styles. */
export type Look = keyof typeof FORMATS;

/** Applies a style to a text; returns it unchanged without colors. */
export type Paint = (look: Look, text: string) => string;

/** How text is laid out in lines. */
export interface LineStyle {
  readonly paint: Paint;
  /** The maximum width of a line in columns. */
  readonly columns: number;
}

/**
 * Returns a `Paint` that uses colors on a terminal, unless NO_COLOR is set or
 * TERM is dumb.
 */
export function paintFor(
  { stdout, env }: Pick<Io, "stdout" | "env">,
  stream: Writable = stdout,
): Paint {
  const isColoured = isTerminal(stream) && env.TERM !== "dumb" && !env.NO_COLOR;
  return isColoured
    ? (look, text) => styleText(FORMATS[look], text, { validateStream: false })
    : (_look, text) => text;
}

const FORMATS = {
  heading: "bold",
  dim: "dim",
  added: "green",
  removed: "red",
  good: "green",
  bad: "red",
  strong: "bold",
  emphasis: "italic",
  struck: "strikethrough",
  code: "cyan",
  link: "underline",
  changed: "inverse",
  prompt: "cyan",
  warning: "yellow",
} as const;

/**
 * Replaces the characters of an untrusted text that would move the cursor,
 * change the terminal, or hide or reorder text by their codes.
 *
 * Line breaks and tabs stay, and so do joiners between letters and emoji that
 * need them. For text that a user approves use `visibleText`, which is
 * stricter.
 */
export function visible(text: string): string {
  return text.replaceAll(UNSAFE, (char) =>
    char === "\n" || char === "\t"
      ? char
      : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Replaces line breaks as well, for a name in a line of its own. */
export function visibleName(name: string): string {
  return visible(name).replaceAll("\n", "\\u{a}");
}

/**
 * Returns `visible` text with all lines but the first indented, so that none
 * can pass for a line of this program.
 */
export function indented(text: string): string {
  return visible(text).replaceAll("\n", "\n    ");
}

/** Scripts whose letters need joiners and non-joiners between them. */
const JOINED_SCRIPTS = [
  "Arab",
  "Beng",
  "Deva",
  "Gujr",
  "Guru",
  "Knda",
  "Mlym",
  "Orya",
  "Sinh",
  "Taml",
  "Telu",
]
  .map((script) => `\\p{sc=${script}}`)
  .join("");
const LETTER_JOINER = `(?<=[${JOINED_SCRIPTS}]\\p{M}*)[\u200c\u200d](?=[${JOINED_SCRIPTS}])`;
const UNSAFE = new RegExp(
  `(?!${IN_EMOJI.source}|${LETTER_JOINER})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]`,
  "gu",
);
