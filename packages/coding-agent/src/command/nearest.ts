/** A longer name is near to none: a client may send one of millions of characters, which take minutes to compare. */
const MAX_COMPARED = 200;

/**
 * Finds the candidate with the fewest edits from a name; the first of equals. Empty when none is close: more than half of
 * the characters would have to change.
 */
export function nearest(name: string, candidates: readonly string[]): string {
  if (name.length > MAX_COMPARED) return "";
  let best = { candidate: "", edits: Number.POSITIVE_INFINITY };
  for (const candidate of candidates) {
    const edits = editDistance(name, candidate);
    if (edits < best.edits) best = { candidate, edits };
  }
  return best.edits * 2 <= Math.max(name.length, best.candidate.length) ? best.candidate : "";
}

/** Counts the characters to insert, delete or replace to make one text of the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, a] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, b] of [...to].entries()) {
      const replaced = (row[j] ?? 0) + (a === b ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
