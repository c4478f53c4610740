import { styleText } from "node:util";
import type { Io } from "../io.ts";

/** Ways to show a piece of text. */
export type Look = "heading" | "dim" | "added" | "removed" | "good" | "bad" | "plain";

/** Shows text in a way; without colours, as it is. */
export type Paint = (look: Look, text: string) => string;

/** Paints with colours when a person looks and did not forbid them (NO_COLOR). */
export function paintFor(io: Pick<Io, "interactive" | "env">): Paint {
  const coloured = io.interactive && !io.env.NO_COLOR;
  return coloured ? (look, text) => styleText(FORMATS[look], text, { validateStream: false }) : (_look, text) => text;
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
 * is shown as its code. Lines and tabs stay.
 */
export function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
    char === "\n" || char === "\t" ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
