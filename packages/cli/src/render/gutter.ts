import type { Writable } from "node:stream";
import { foldLines, hiddenLines } from "@devtool/internal/visible-text";

/** The size of the terminal. An unknown size sets no limit. */
export interface ScreenSize {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** Returns the size of the terminal, as far as it is known. */
export function screenSize(out: Writable): ScreenSize {
  return {
    columns:
      "columns" in out && typeof out.columns === "number"
        ? out.columns
        : undefined,
    rows: "rows" in out && typeof out.rows === "number" ? out.rows : undefined,
  };
}

/** Options of `gutterLines`. */
interface GutterOptions {
  /** Maximum number of lines. Lines in the middle are omitted and counted. */
  readonly maxLines: number;
  /** Width at which lines are wrapped. Default: they are not. */
  readonly columns?: number | undefined;
  /** Styles a piece of a line. */
  readonly look: (piece: string, line: string) => string;
}

/**
 * Prefixes of lines, of the continuation of wrapped lines, and of the count of
 * omitted lines.
 */
export const GUTTER = {
  line: "  │ ",
  wrapped: "  ┊ ",
  hidden: "  ⋮ ",
} as const;
const TAB_WIDTH = 4;

/**
 * Prefixes each line of a text from a tool, so that none can pass for a line of
 * this program.
 *
 * Lines that the terminal would wrap are wrapped here and prefixed too. Control
 * characters must have been replaced before.
 */
export function gutterLines(
  text: string,
  { maxLines, columns, look }: GutterOptions,
): string[] {
  if (text === "") return [];
  const width =
    columns === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(10, columns - GUTTER.line.length);
  const lines = text
    .trimEnd()
    .split("\n")
    .flatMap((line) =>
      piecesOf(line.replaceAll("\t", " ".repeat(TAB_WIDTH)), width).map(
        (piece, index) =>
          `${index === 0 ? GUTTER.line : GUTTER.wrapped}${look(piece, line)}`,
      ),
    );
  const { first, hidden, last } = foldLines(lines, maxLines);
  return [
    ...first,
    ...(hidden > 0 ? [`${GUTTER.hidden}${hiddenLines(hidden)}`] : []),
    ...last,
  ];
}

/**
 * Returns the pieces of a line that fit the terminal. A character that is not
 * ASCII counts as two columns.
 */
function piecesOf(line: string, width: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  let used = 0;
  for (const character of line) {
    const columns = character <= "~" ? 1 : 2;
    if (used + columns > width) {
      pieces.push(piece);
      [piece, used] = ["", 0];
    }
    piece += character;
    used += columns;
  }
  return [...pieces, piece];
}
