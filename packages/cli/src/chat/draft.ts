import stringWidth from "string-width";

/**
 * A pasted text of several lines, and the words that stand for it in a draft.
 */
interface Paste {
  readonly label: string;
  readonly text: string;
}

/** The message that is being written. */
export interface Draft {
  /** The text as it is shown: pastes of several lines are labels in it. */
  readonly text: string;
  /**
   * The position of the cursor in `text`, between two characters as a person
   * counts them.
   */
  readonly cursor: number;
  readonly pastes: readonly Paste[];
}

export const EMPTY_DRAFT: Draft = { text: "", cursor: 0, pastes: [] };

/** Returns a draft of a text, with the cursor at its end. */
export function draftOf(text: string): Draft {
  return { text, cursor: text.length, pastes: [] };
}

/** Returns the text of a draft with its pastes in full. */
export function expandDraft({ text, pastes }: Draft): string {
  return pastes.reduce(
    (whole, { label, text: pasted }) => whole.replaceAll(label, () => pasted),
    text,
  );
}

/** Inserts a text at the cursor. */
export function insertText(
  { text, cursor, pastes }: Draft,
  inserted: string,
): Draft {
  const before = text.slice(0, cursor) + inserted;
  return { text: before + text.slice(cursor), cursor: before.length, pastes };
}

/**
 * Inserts a pasted text without its control characters, and without empty lines
 * at its end. Several lines become a label.
 */
export function insertPaste(draft: Draft, raw: string): Draft {
  const pasted = raw
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/(?![\n\t])\p{Cc}/gu, "")
    .replace(/\n+$/, "");
  const lines = pasted.split("\n").length;
  if (lines === 1) return insertText(draft, pasted);
  const label = `[paste ${draft.pastes.length + 1}: ${lines} lines]`;
  return insertText(
    { ...draft, pastes: [...draft.pastes, { label, text: pasted }] },
    label,
  );
}

/** A position to move the cursor to, or to delete up to. */
export type CursorTarget =
  | "character before"
  | "character after"
  | "word before"
  | "word after"
  | "line start"
  | "line end"
  | "text start"
  | "text end";

/** Moves the cursor. */
export function moveCursor(draft: Draft, place: CursorTarget): Draft {
  return { ...draft, cursor: positionOf(draft, place) };
}

/**
 * Deletes from the cursor to a place. A label of a paste is deleted as a whole.
 */
export function deleteTo(draft: Draft, place: CursorTarget): Draft {
  const { text, cursor, pastes } = draft;
  const label =
    place === "character before"
      ? pastes.find((paste) => text.endsWith(paste.label, cursor))
      : undefined;
  const other = label ? cursor - label.label.length : positionOf(draft, place);
  const [from, to] = [Math.min(cursor, other), Math.max(cursor, other)];
  return { text: text.slice(0, from) + text.slice(to), cursor: from, pastes };
}

/**
 * Moves the cursor to the line above or below it. Undefined when there is none.
 */
export function moveLine(draft: Draft, step: -1 | 1): Draft | undefined {
  const { text, cursor } = draft;
  const start = lineStart(text, cursor);
  const other = step === -1 ? start - 1 : lineEnd(text, cursor) + 1;
  if (other < 0 || other > text.length) return undefined;
  const from = lineStart(text, other);
  return {
    ...draft,
    cursor: Math.min(from + cursor - start, lineEnd(text, other)),
  };
}

/** A draft on the screen. */
interface DraftLayout {
  readonly lines: readonly string[];
  /** The line and the column of the cursor, from 0. */
  readonly row: number;
  readonly column: number;
}

/**
 * Breaks a draft into lines of at most `columns` columns, and finds the cursor
 * in them.
 */
export function layoutDraft(
  { text, cursor }: Pick<Draft, "text" | "cursor">,
  columns: number,
): DraftLayout {
  const lines: string[] = [];
  let [line, used, at] = ["", 0, 0];
  let place = { row: 0, column: 0 };
  for (const character of graphemes(text.replaceAll("\t", " "))) {
    const width = character === "\n" ? 0 : stringWidth(character);
    if (character !== "\n" && used + width > columns) {
      lines.push(line);
      [line, used] = ["", 0];
    }
    if (at === cursor) place = { row: lines.length, column: used };
    if (character === "\n") {
      lines.push(line);
      [line, used] = ["", 0];
    } else {
      line += character;
      used += width;
    }
    at += character.length;
  }
  // The cursor behind a full line stands in the next one.
  if (used >= columns) {
    lines.push(line);
    [line, used] = ["", 0];
  }
  if (cursor >= text.length) place = { row: lines.length, column: used };
  return { lines: [...lines, line], ...place };
}

const SEGMENTER = new Intl.Segmenter();

function graphemes(text: string): string[] {
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment);
}

function positionOf({ text, cursor }: Draft, place: CursorTarget): number {
  const before = text.slice(0, cursor);
  const after = text.slice(cursor);
  switch (place) {
    case "character before":
      return cursor - (graphemes(before).at(-1)?.length ?? 0);
    case "character after":
      return cursor + (graphemes(after)[0]?.length ?? 0);
    case "word before":
      return before.replace(/[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u, "").length;
    case "word after":
      return (
        cursor +
        (/^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(after)?.[0].length ?? 0)
      );
    case "line start":
      return lineStart(text, cursor);
    case "line end":
      return lineEnd(text, cursor);
    case "text start":
      return 0;
    case "text end":
      return text.length;
    default:
      return place satisfies never;
  }
}

function lineStart(text: string, cursor: number): number {
  return text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd(text: string, cursor: number): number {
  const end = text.indexOf("\n", cursor);
  return end < 0 ? text.length : end;
}
