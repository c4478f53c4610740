/** What shows as nothing, as a plain space, or as something else than it is; a line break and a tab show what they are. */
const DECEIVING =
  /[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}|(?![\n\t])\p{Cc}|\u034f|[\u115f\u1160\u3164\uffa0]|[\u17b4\u17b5]|[\u180b-\u180f]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** The maximum length of a text on one line, in characters. */
const MAX_LINE_LENGTH = 1000;

/** Writes text so that a person sees each of its characters: those that deceive, as `\u{202e}`. Keeps lines and tabs. */
export function visibleText(text: string): string {
  return text.replace(DECEIVING, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/**
 * Writes text on one line, with its characters visible: the first line that is not blank, and how many more there are.
 * Runs of spaces become one. Of more than `maxLength` characters the ones in the middle are left out, and counted.
 */
export function oneLine(text: string, maxLength: number = MAX_LINE_LENGTH): string {
  const lines = visibleText(text)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const first = shortened((lines[0] ?? "").trim().replaceAll(/\s+/g, " "), maxLength);
  return lines.length > 1 ? `${first} [${counted(lines.length - 1, "more line")}]` : first;
}

/** The lines of a text, the ones in the middle left out. */
export interface FoldedLines {
  readonly first: readonly string[];
  /** The number of lines that are left out. */
  readonly hidden: number;
  readonly last: readonly string[];
}

/** Keeps `maxLines` lines, two thirds of them from the beginning and the others from the end. */
export function foldLines(lines: readonly string[], maxLines: number): FoldedLines {
  if (lines.length <= maxLines) return { first: lines, hidden: 0, last: [] };
  const first = Math.ceil((maxLines * 2) / 3);
  const last = lines.slice(lines.length - (maxLines - first));
  return { first: lines.slice(0, first), hidden: lines.length - maxLines, last };
}

/** Says how many lines were left out, for a place where the lines of the text cannot stand: `[5 more lines]`. */
export function hiddenLines(count: number): string {
  return `[${counted(count, "more line")}]`;
}

/**
 * Sets text off from the words around it: `│ ` stands in front of each of its lines, so that none of them can look like
 * a line of the question it is in. Characters are visible, and long texts and lines are folded.
 */
export function quotedLines(text: string, maxLines: number): string {
  const { first, hidden, last } = foldLines(visibleText(text).trimEnd().split("\n"), maxLines);
  const quoted = (line: string): string => `│ ${shortened(line, MAX_LINE_LENGTH)}`;
  const rest = hidden > 0 ? [`⋮ ${hiddenLines(hidden)}`] : [];
  return [...first.map(quoted), ...rest, ...last.map(quoted)].join("\n");
}

function shortened(line: string, maxLength: number): string {
  const characters = [...line];
  if (characters.length <= maxLength) return line;
  const first = Math.ceil((maxLength * 2) / 3);
  const last = characters.slice(characters.length - (maxLength - first)).join("");
  return `${characters.slice(0, first).join("")} … [${characters.length - maxLength} more characters] … ${last}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
