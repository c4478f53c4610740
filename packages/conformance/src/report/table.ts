import { type CaseReport, Outcome, type Report } from "@devtool/schema/conformance";

/**
 * The name of each outcome, at most 8 characters.
 */
export const OUTCOME_NAMES: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "unknown",
  [Outcome.PASSED]: "passed",
  [Outcome.FAILED]: "failed",
  [Outcome.SKIPPED]: "skipped",
  [Outcome.KNOWN_FAILING]: "known",
  [Outcome.PASSED_THOUGH_KNOWN]: "passes",
};

/**
 * The name of each outcome where there is more space.
 */
export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  ...OUTCOME_NAMES,
  [Outcome.KNOWN_FAILING]: "known to fail",
  [Outcome.PASSED_THOUGH_KNOWN]: "wrongly listed as failing",
};

/**
 * The outcomes that need attention.
 */
export const RED_OUTCOMES: readonly Outcome[] = [Outcome.FAILED, Outcome.PASSED_THOUGH_KNOWN];

/**
 * Returns the name of the suite and, for a server, of the binding.
 */
export function suiteTitle({ suite, binding }: Report): string {
  return binding === "" ? suite : `${suite} over ${binding}`;
}

/**
 * Renders a report as text: a line per requirement, a line per case that is known to fail or
 * wrongly listed, and the totals.
 */
export function reportTable({ requirements, cases }: Report): string {
  const width = Math.max(...requirements.map(({ id }) => id.length));
  const lines = requirements.map(({ id, outcome, behaviour, reason }) => {
    const why = reason === "" ? "" : ` (${reason})`;
    return `${OUTCOME_NAMES[outcome].padEnd(8)} ${id.padEnd(width)} ${behaviour}${why}`;
  });
  return [
    ...lines,
    ...cases.filter(needsExplanation).map(explain),
    "",
    `${countOutcomes(requirements)} of ${requirements.length} requirements; ${countOutcomes(cases)} of ${cases.length} cases`,
  ].join("\n");
}

/**
 * Whether a case is known to fail, or the list of known failures is wrong about it. A listed case
 * that does not exist has no requirements.
 */
function needsExplanation({ outcome, requirements }: CaseReport): boolean {
  const listed = [Outcome.KNOWN_FAILING, Outcome.PASSED_THOUGH_KNOWN];
  return listed.includes(outcome) || requirements.length === 0;
}

function explain({ id, outcome, reason, failures }: CaseReport): string {
  return `${OUTCOME_NAMES[outcome].padEnd(8)} ${id}: ${reason || failures.map((failure) => failure.reason).join("; ")}`;
}

/**
 * Counts the outcomes, for instance `3 passed, 1 failed`. Outcomes that do not occur are left out.
 */
function countOutcomes(items: readonly { readonly outcome: Outcome }[]): string {
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
