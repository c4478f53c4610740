import { visibleText } from "@devtool/internal/visible-text";
import { diffWordsWithSpace } from "diff";
import type { Look, Paint } from "../render/style.ts";
import { diffLook } from "../render/tool-call.ts";

/**
 * The length of a line in characters above which its words are not compared.
 */
const MAX_COMPARED = 500;

/**
 * Paints the lines of a unified diff. Where a line replaces another, the words
 * that differ are marked in both.
 *
 * The lines that name the file are left out, and the range of a new file: the
 * call names it. Invisible and misleading characters are escaped.
 */
export function diffLines(diff: string, paint: Paint): string[] {
  const lines = withoutHead(visibleText(diff).trimEnd().split("\n"));
  const painted: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const removed = run(lines, at, "removed");
    const added = run(lines, at + removed.length, "added");
    if (removed.length + added.length === 0) {
      const line = lines[at++] ?? "";
      const look = diffLook(line);
      painted.push(look ? paint(look, line) : line);
      continue;
    }
    if (removed.length === added.length) {
      const pairs = removed.map((line, index) =>
        markWords(line, added[index] ?? "", paint),
      );
      painted.push(
        ...pairs.map(([before]) => before),
        ...pairs.map(([, after]) => after),
      );
    } else {
      painted.push(
        ...removed.map((line) => paint("removed", line)),
        ...added.map((line) => paint("added", line)),
      );
    }
    at += removed.length + added.length;
  }
  return painted;
}

function withoutHead(lines: readonly string[]): readonly string[] {
  const [before = "", after = "", range = ""] = lines;
  const isHead =
    before.startsWith("--- ") &&
    after.startsWith("+++ ") &&
    range.startsWith("@@ ");
  if (!isHead) return lines;
  return lines.slice(range.startsWith("@@ -0,0 ") ? 3 : 2);
}

/** Returns the lines from a position on that are all removed, or all added. */
function run(lines: readonly string[], from: number, look: Look): string[] {
  const end = lines.findIndex(
    (line, index) => index >= from && diffLook(line) !== look,
  );
  return lines.slice(from, end < 0 ? lines.length : end);
}

/**
 * Marks the words in which two lines differ, unless they have nothing in
 * common.
 */
function markWords(
  before: string,
  after: string,
  paint: Paint,
): [string, string] {
  const plain: [string, string] = [
    paint("removed", before),
    paint("added", after),
  ];
  if (Math.max(before.length, after.length) > MAX_COMPARED) return plain;
  const pieces = diffWordsWithSpace(before.slice(1), after.slice(1));
  if (
    !pieces.some(
      ({ added, removed, value }) => !added && !removed && value.trim() !== "",
    )
  ) {
    return plain;
  }
  const side = (look: "added" | "removed", mark: string): string => {
    const other = look === "added" ? "removed" : "added";
    const shown = pieces.filter((piece) => !piece[other]);
    return [
      paint(look, mark),
      ...shown.map((piece) =>
        paint(look, piece[look] ? paint("changed", piece.value) : piece.value),
      ),
    ].join("");
  };
  return [side("removed", "-"), side("added", "+")];
}
