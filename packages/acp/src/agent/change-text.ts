import type { FileDiff } from "@devtool/schema";

/** Returns changes as text: for each its path, and the lines between the first and the last one that differ. */
export function changeText(diffs: readonly FileDiff[]): string {
  return diffs.map(formatChange).join("\n");
}

function formatChange({ filePath, oldContent = "", newContent }: FileDiff): string {
  const old = oldContent.split("\n");
  const changed = newContent.split("\n");
  const start = commonLength(old, changed);
  const end = commonLength(old.slice(start).reverse(), changed.slice(start).reverse());
  const removed = old.slice(start, old.length - end).map((line) => `-${line}`);
  const added = changed.slice(start, changed.length - end).map((line) => `+${line}`);
  const range = `@@ -${start + 1},${removed.length} +${start + 1},${added.length} @@`;
  return [`--- ${pathText(filePath)}`, range, ...removed, ...added].join("\n");
}

/** Returns a path that is part of a text, on one line. */
export function pathText(path: string): string {
  return path.replaceAll("\n", "\\n");
}

/** Returns the number of lines at the beginning that are equal. */
function commonLength(one: readonly string[], other: readonly string[]): number {
  const end = one.findIndex((line, index) => line !== other[index]);
  return end < 0 ? one.length : end;
}
