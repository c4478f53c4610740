/**
 * The maximum length of a name to compare. Comparing a name of millions of
 * characters would take minutes.
 */
const MAX_COMPARED = 200;

/**
 * Returns the candidate with the smallest edit distance to a name, and the
 * first of several with the same distance.
 *
 * Returns an empty string when more than half of the characters would have to
 * change for every candidate, or more than `maxEdits`. Default: no maximum.
 */
export function nearest(
  name: string,
  candidates: readonly string[],
  maxEdits: number = Number.POSITIVE_INFINITY,
): string {
  if (name.length > MAX_COMPARED) return "";
  let best = { candidate: "", edits: Number.POSITIVE_INFINITY };
  for (const candidate of candidates) {
    const edits = editDistance(name, candidate);
    if (edits < best.edits) best = { candidate, edits };
  }
  return best.edits <= maxEdits &&
    best.edits * 2 <= Math.max(name.length, best.candidate.length)
    ? best.candidate
    : "";
}

/** Returns the Levenshtein distance of two texts. */
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
