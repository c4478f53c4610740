import { Outcome, type Report } from "@devtool/schema/conformance";

/** What each outcome is called. */
export const OUTCOME_NAMES: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "unknown",
  [Outcome.PASSED]: "passed",
  [Outcome.FAILED]: "failed",
  [Outcome.SKIPPED]: "skipped",
  [Outcome.KNOWN_FAILING]: "known",
  [Outcome.PASSED_THOUGH_KNOWN]: "passes",
};

/** A report as lines of text: each requirement with what became of it, then the sums. */
export function reportTable({ requirements, cases }: Report): string {
  const width = Math.max(...requirements.map(({ id }) => id.length));
  const lines = requirements.map(({ id, outcome, behaviour, reason }) => {
    const why = reason === "" ? "" : ` (${reason})`;
    return `${OUTCOME_NAMES[outcome].padEnd(8)} ${id.padEnd(width)} ${behaviour}${why}`;
  });
  return [
    ...lines,
    "",
    `${sumText(requirements)} of ${requirements.length} requirements; ${sumText(cases)} of ${cases.length} cases`,
  ].join("\n");
}

/** How many came out how, in words; what did not happen is left out. */
export function sumText(items: readonly { readonly outcome: Outcome }[]): string {
  const counts = Object.entries(SUM_WORDS).map(([outcome, word]): [number, string] => [
    items.filter((item) => String(item.outcome) === outcome).length,
    word,
  ]);
  return counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
}

const SUM_WORDS: Readonly<Record<number, string>> = {
  [Outcome.PASSED]: "passed",
  [Outcome.FAILED]: "failed",
  [Outcome.KNOWN_FAILING]: "known to fail",
  [Outcome.PASSED_THOUGH_KNOWN]: "wrongly listed as failing",
  [Outcome.SKIPPED]: "skipped",
};
