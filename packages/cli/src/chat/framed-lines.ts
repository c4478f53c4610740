import { foldLines, hiddenLines } from "@devtool/internal/visible-text";
import wrapAnsi from "wrap-ansi";
import { GUTTER } from "../render/gutter.ts";

/** Options of `frameLines`. */
interface FrameOptions {
  /** The width of the terminal in columns. */
  readonly columns: number;
  /** Maximum number of lines. Lines in the middle are omitted and counted. */
  readonly maxLines: number;
}

/**
 * Puts the gutter before lines of others that may be painted, and before each
 * piece of a line that is too long, so that none can pass for a line of this
 * program. Control characters must have been replaced before.
 */
export function frameLines(
  lines: readonly string[],
  { columns, maxLines }: FrameOptions,
): string[] {
  const width = Math.max(10, columns - GUTTER.line.length);
  const framed = lines.flatMap((line) =>
    wrapAnsi(line.replaceAll("\t", "    "), width, {
      hard: true,
      wordWrap: false,
      trim: false,
    })
      .split("\n")
      .map(
        (piece, index) =>
          `${index === 0 ? GUTTER.line : GUTTER.wrapped}${piece}`,
      ),
  );
  const { first, hidden, last } = foldLines(framed, maxLines);
  return [
    ...first,
    ...(hidden > 0 ? [`${GUTTER.hidden}${hiddenLines(hidden)}`] : []),
    ...last,
  ];
}
