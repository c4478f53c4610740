import { type CaseReport, Outcome, type Report } from "@devtool/schema/conformance";

/** What each outcome is called. */
export const OUTCOME_NAMES: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "unknown",
  [Outcome.PASSED]: "passed",
  [Outcome.FAILED]: "failed",
  [Outcome.SKIPPED]: "skipped",
  [Outcome.KNOWN_FAILING]: "known",
  [Outcome.PASSED_THOUGH_KNOWN]: "passes",
};

/** What each outcome is called where there is room. */
export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  ...OUTCOME_NAMES,
  [Outcome.KNOWN_FAILING]: "known to fail",
  [Outcome.PASSED_THOUGH_KNOWN]: "wrongly listed as failing",
};

/** What was played, and over which binding where there is one. */
export function playedText({ suite, binding }: Report): string {
  return binding === "" ? suite : `${suite} over ${binding}`;
}

/** A report as lines of text: each requirement with what became of it, why cases are known to fail or where the list of those is wrong, the sums. */
export function reportTable({ requirements, cases }: Report): string {
  const width = Math.max(...requirements.map(({ id }) => id.length));
  const lines = requirements.map(({ id, outcome, behaviour, reason }) => {
    const why = reason === "" ? "" : ` (${reason})`;
    return `${OUTCOME_NAMES[outcome].padEnd(8)} ${id.padEnd(width)} ${behaviour}${why}`;
  });
  return [
    ...lines,
    ...cases.filter(isExplained).map(explainedLine),
    "",
    `${sumText(requirements)} of ${requirements.length} requirements; ${sumText(cases)} of ${cases.length} cases`,
  ].join("\n");
}

/** Whether a case needs a line of its own: it is known to fail, or the list of those is wrong about it. */
function isExplained({ outcome, requirements }: CaseReport): boolean {
  const ofList = [Outcome.KNOWN_FAILING, Outcome.PASSED_THOUGH_KNOWN];
  return ofList.includes(outcome) || requirements.length === 0;
}

function explainedLine({ id, outcome, reason, failures }: CaseReport): string {
  return `${OUTCOME_NAMES[outcome].padEnd(8)} ${id}: ${reason || failures.map((failure) => failure.reason).join("; ")}`;
}

/** How many came out how, in words; what did not happen is left out. */
function sumText(items: readonly { readonly outcome: Outcome }[]): string {
  const counts = SUM_ORDER.map((outcome): [number, string] => [
    items.filter((item) => item.outcome === outcome).length,
    OUTCOME_WORDS[outcome],
  ]);
  return counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
}

const SUM_ORDER = [
  Outcome.PASSED,
  Outcome.FAILED,
  Outcome.KNOWN_FAILING,
  Outcome.PASSED_THOUGH_KNOWN,
  Outcome.SKIPPED,
] as const;
