import { foldLines, hiddenLines } from "@devtool/schema";

/** The size of the terminal that a text is shown at; a size that is not known sets no limit. */
export interface Screen {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** How a text is set off. */
export interface GutterOptions {
  /** The maximum number of lines; the ones in the middle are left out and counted. */
  readonly maxLines: number;
  /** Where lines are broken. Default: nowhere. */
  readonly columns?: number | undefined;
  /** Paints a piece of a line. */
  readonly look: (piece: string, line: string) => string;
}

/** In front of each line, of each that goes on one that was too long, and of the count of those that are left out. */
const GUTTER = { line: "  │ ", wrapped: "  ┊ ", hidden: "  ⋮ " } as const;
const TAB_WIDTH = 4;

/**
 * Sets off a text that comes from a tool or is asked about, whose characters are visible already. None of its lines can
 * begin where ours do: each has a mark in front, also those that the terminal would break.
 */
export function gutterLines(text: string, { maxLines, columns, look }: GutterOptions): string[] {
  if (text === "") return [];
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(10, columns - GUTTER.line.length);
  const lines = text
    .trimEnd()
    .split("\n")
    .flatMap((line) =>
      piecesOf(line.replaceAll("\t", " ".repeat(TAB_WIDTH)), width).map(
        (piece, index) => `${index === 0 ? GUTTER.line : GUTTER.wrapped}${look(piece, line)}`,
      ),
    );
  const { first, hidden, last } = foldLines(lines, maxLines);
  return [...first, ...(hidden > 0 ? [`${GUTTER.hidden}${hiddenLines(hidden)}`] : []), ...last];
}

/** Breaks a line so that no piece is wider than the terminal. What is not ASCII may be two columns wide. */
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
