import type { FileDiff } from "@devtool/schema";

/** A change of a file. */
export type Change = Pick<FileDiff, "filePath" | "oldContent" | "newContent">;

/**
 * Returns the unified diff of a change: the lines between the first and the
 * last one that differ, in one hunk without context.
 */
export function unifiedDiff({
  filePath,
  oldContent,
  newContent,
}: Change): string {
  const path = pathText(filePath);
  const old = linesOf(oldContent ?? "");
  const changed = linesOf(newContent);
  const start = commonLength(old, changed);
  const end = commonLength(
    old.slice(start).reverse(),
    changed.slice(start).reverse(),
  );
  const removed = old.slice(start, old.length - end);
  const added = changed.slice(start, changed.length - end);
  const ranges = `@@ -${rangeOf(start, removed.length)} +${rangeOf(start, added.length)} @@`;
  const lines = [
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
  ].map((line) =>
    line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`,
  );
  const headers = `--- ${oldContent === undefined ? "/dev/null" : path}\n+++ ${path}\n`;
  return lines.length === 0
    ? headers
    : `${headers}${ranges}\n${lines.join("")}`;
}

/** Returns a path that is part of a text, on one line. */
export function pathText(path: string): string {
  return path.replaceAll("\n", "\\n");
}

/**
 * Returns the lines of a text, each with its line end; the last one may have
 * none.
 */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/**
 * Returns a range of lines as unified diffs have it: an empty one names the
 * line before it.
 */
function rangeOf(start: number, count: number): string {
  return `${count === 0 ? start : start + 1},${count}`;
}

/** Returns the number of lines at the beginning that are equal. */
function commonLength(
  one: readonly string[],
  other: readonly string[],
): number {
  const end = one.findIndex((line, index) => line !== other[index]);
  return end < 0 ? one.length : end;
}
