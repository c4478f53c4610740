import type { FileDiff } from "@devtool/schema";
import { structuredPatch } from "diff";

/**
 * A row of a diff: a line before the change beside the line after it. Undefined
 * where there is none.
 */
interface DiffRow {
  readonly key: string;
  readonly before: DiffLine | undefined;
  readonly after: DiffLine | undefined;
  readonly isChanged: boolean;
}

/** A line with its number, from 1. */
export interface DiffLine {
  readonly number: number;
  readonly text: string;
}

/**
 * Maximum time in milliseconds for the comparison. A diff that takes longer
 * shows the whole contents.
 */
const TIMEOUT_MS = 200;

/**
 * Returns the rows of a diff with three lines around each change; each hunk is
 * a list of its own.
 */
export function diffHunks({
  oldContent = "",
  newContent,
}: FileDiff): readonly (readonly DiffRow[])[] {
  const patch = structuredPatch("", "", oldContent, newContent, "", "", {
    context: 3,
    timeout: TIMEOUT_MS,
  });
  const linesOf = (text: string, mark: string): string[] =>
    text.split("\n").map((line) => mark + line);
  const hunks = patch?.hunks ?? [
    {
      oldStart: 1,
      newStart: 1,
      lines: [...linesOf(oldContent, "-"), ...linesOf(newContent, "+")],
    },
  ];
  return hunks.map(({ oldStart, newStart, lines }) =>
    rowsOf(lines, oldStart, newStart),
  );
}

/** Puts removed lines beside the added lines that follow them. */
function rowsOf(
  lines: readonly string[],
  oldStart: number,
  newStart: number,
): DiffRow[] {
  const rows: DiffRow[] = [];
  let [oldNumber, newNumber] = [oldStart, newStart];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = (): void => {
    for (
      let index = 0;
      index < Math.max(removed.length, added.length);
      index++
    ) {
      const [before, after] = [removed[index], added[index]];
      rows.push({
        key: `${before?.number}/${after?.number}`,
        before,
        after,
        isChanged: true,
      });
    }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line.startsWith("-")) {
      if (added.length > 0) flush();
      removed.push({ number: oldNumber++, text });
    } else if (line.startsWith("+")) {
      added.push({ number: newNumber++, text });
    } else if (line.startsWith(" ")) {
      flush();
      const [before, after] = [
        { number: oldNumber++, text },
        { number: newNumber++, text },
      ];
      rows.push({
        key: `${before.number}/${after.number}`,
        before,
        after,
        isChanged: false,
      });
    }
  }
  flush();
  return rows;
}
