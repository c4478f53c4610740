/**
 * Characters that are invisible, look like a space, or look like another
 * character. Line breaks and tabs are not among them.
 */
const DECEIVING =
  /[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}|(?![\n\t])\p{Cc}|\u034f|[\u115f\u1160\u3164\uffa0]|[\u17b4\u17b5]|[\u180b-\u180f]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/**
 * Matches the invisible characters that hold an emoji together: a joiner
 * between two emoji (`👩‍👧`), and a variation selector behind an emoji (`❤️`)
 * or in a keycap (`1️⃣`).
 */
export const IN_EMOJI: RegExp =
  /(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]|(?<=[#*\d])\ufe0f(?=\u20e3)/u;

const DECEIVING_OUTSIDE_EMOJI = new RegExp(
  `(?!${IN_EMOJI.source})(?:${DECEIVING.source})`,
  "gu",
);

/** Maximum length of a text on one line, in characters. */
const MAX_LINE_LENGTH = 1000;

/**
 * Escapes characters that are invisible or misleading, as `\u{202e}`. Keeps
 * line breaks and tabs.
 */
export function visibleText(text: string): string {
  return text.replace(
    DECEIVING,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/**
 * Writes control and invisible characters in a line of JSON as JSON escapes,
 * which leaves its meaning unchanged.
 */
export function visibleJson(json: string): string {
  return json.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
    char === "\n"
      ? char
      : char.replaceAll(
          /./gs,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
        ),
  );
}

/**
 * Writes a line of JSON so that nothing in it hides, or ends a block of tags:
 * without invisible characters and angle brackets. Leaves its meaning
 * unchanged.
 */
export function blockJson(json: string): string {
  return visibleJson(json).replace(
    /[<>&]/g,
    (character) =>
      `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * Removes characters that are invisible or misleading. Keeps line breaks, tabs,
 * and what holds an emoji together.
 */
export function withoutDeceiving(text: string): string {
  return text.replace(DECEIVING_OUTSIDE_EMOJI, "");
}

/**
 * Puts text on one line: the first line that is not blank, and the number of
 * further lines.
 *
 * Invisible and misleading characters are escaped, and runs of spaces become
 * one. Beyond `maxLength` characters (code points; default: 1000), the middle of
 * the line is replaced by the number of characters that it had.
 */
export function oneLine(
  text: string,
  maxLength: number = MAX_LINE_LENGTH,
): string {
  const lines = visibleText(text)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const first = shortened(
    (lines[0] ?? "").trim().replaceAll(/\s+/g, " "),
    maxLength,
  );
  return lines.length > 1 ? `${first} ${hiddenLines(lines.length - 1)}` : first;
}

/** Lines of a text, without the middle. */
export interface FoldedLines {
  readonly first: readonly string[];
  /** Number of lines that were removed. */
  readonly hidden: number;
  readonly last: readonly string[];
}

/**
 * Keeps at most `maxLines` lines: two thirds from the beginning, the rest from
 * the end.
 */
export function foldLines(
  lines: readonly string[],
  maxLines: number,
): FoldedLines {
  if (lines.length <= maxLines) return { first: lines, hidden: 0, last: [] };
  const first = Math.ceil((maxLines * 2) / 3);
  const last = lines.slice(lines.length - (maxLines - first));
  return {
    first: lines.slice(0, first),
    hidden: lines.length - maxLines,
    last,
  };
}

/** Renders the number of removed lines, such as `[5 more lines]`. */
export function hiddenLines(count: number): string {
  return `[${count} more line${count === 1 ? "" : "s"}]`;
}

/**
 * Quotes text by `│ ` in front of each line, so that none can look like a line
 * of the text around it.
 *
 * Invisible and misleading characters are escaped. Of a text with more than
 * `maxLines` lines, and of a line with more than 1000 characters, the middle is
 * left out.
 */
export function quotedLines(text: string, maxLines: number): string {
  const { first, hidden, last } = foldLines(
    visibleText(text).trimEnd().split("\n"),
    maxLines,
  );
  const quoted = (line: string): string =>
    `│ ${shortened(line, MAX_LINE_LENGTH)}`;
  const rest = hidden > 0 ? [`⋮ ${hiddenLines(hidden)}`] : [];
  return [...first.map(quoted), ...rest, ...last.map(quoted)].join("\n");
}

/** Quotes text as `quotedLines` does, and shortens nothing. */
export function quotedText(text: string): string {
  const lines = visibleText(text).trimEnd().split("\n");
  return lines.map((line) => `│ ${line}`).join("\n");
}

function shortened(line: string, maxLength: number): string {
  const characters = [...line];
  if (characters.length <= maxLength) return line;
  const first = Math.ceil((maxLength * 2) / 3);
  const last = characters
    .slice(characters.length - (maxLength - first))
    .join("");
  return `${characters.slice(0, first).join("")} … [${characters.length - maxLength} more characters] … ${last}`;
}
