import {
  Level,
  Outcome,
  type Report,
  type RequirementReport,
} from "../protos.ts";

/** The name of each outcome in a column of 8 characters. */
export const SHORT_OUTCOME_NAMES: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "unknown",
  [Outcome.PASSED]: "passed",
  [Outcome.FAILED]: "failed",
  [Outcome.SKIPPED]: "skipped",
  [Outcome.KNOWN_FAILING]: "known",
  [Outcome.PASSED_THOUGH_KNOWN]: "passes",
  [Outcome.WARNING]: "warning",
};

/** The name of each outcome in sentences and on pages. */
export const OUTCOME_NAMES: Readonly<Record<Outcome, string>> = {
  ...SHORT_OUTCOME_NAMES,
  [Outcome.KNOWN_FAILING]: "known to fail",
  [Outcome.PASSED_THOUGH_KNOWN]: "wrongly listed as failing",
};

/** The keyword of each level. */
export const LEVEL_NAMES: Readonly<Record<Level, string>> = {
  [Level.UNSPECIFIED]: "",
  [Level.MUST]: "MUST",
  [Level.SHOULD]: "SHOULD",
  [Level.MAY]: "MAY",
};

/**
 * The outcomes that need attention.
 */
export const RED_OUTCOMES: readonly Outcome[] = [
  Outcome.FAILED,
  Outcome.PASSED_THOUGH_KNOWN,
];

/** The order of the outcomes in the totals. */
const TOTALS_ORDER = [
  Outcome.PASSED,
  Outcome.FAILED,
  Outcome.WARNING,
  Outcome.KNOWN_FAILING,
  Outcome.PASSED_THOUGH_KNOWN,
  Outcome.SKIPPED,
] as const;

/**
 * Returns the name of the suite and, for a server, of the binding.
 */
export function suiteTitle({ suite, binding }: Report): string {
  return binding === "" ? suite : `${suite} over ${binding}`;
}

/**
 * Renders a report as text: a line per requirement with its source, a line per
 * case that is known to fail or wrongly listed, the totals, the share of the
 * tested requirements of each level that are met, and the cases that failed.
 */
export function reportTable({ requirements, cases }: Report): string {
  const width = Math.max(...requirements.map(({ id }) => id.length));
  const lines = requirements.map((item) => {
    const { id, outcome, behaviour, source, reason } = item;
    const why = reason === "" ? "" : `: ${reason}`;
    return `${SHORT_OUTCOME_NAMES[outcome].padEnd(8)} ${LEVEL_NAMES[item.level].padEnd(6)} ${id.padEnd(width)} ${behaviour} (${source})${why}`;
  });
  const listed: readonly Outcome[] = [
    Outcome.KNOWN_FAILING,
    Outcome.PASSED_THOUGH_KNOWN,
  ];
  // Only a case that is listed as known to fail, and that does not exist, has
  // no requirements.
  const toExplain = cases.filter(
    (item) => listed.includes(item.outcome) || item.requirements.length === 0,
  );
  const explained = toExplain.map(({ id, outcome, reason, failures }) => {
    const why = reason || failures.map((failure) => failure.reason).join("; ");
    return `${SHORT_OUTCOME_NAMES[outcome].padEnd(8)} ${id}: ${why}`;
  });
  const failed = cases
    .filter(({ outcome }) => RED_OUTCOMES.includes(outcome))
    .map(({ id }) => id);
  return [
    ...lines,
    ...explained,
    "",
    `${countOutcomes(requirements)} of ${requirements.length} requirements; ${countOutcomes(cases)} of ${cases.length} cases`,
    levelShares(requirements),
    ...(failed.length === 0 ? [] : [`failed: ${failed.join(", ")}`]),
  ].join("\n");
}

/**
 * Counts the outcomes, for instance `3 passed, 1 failed`. Outcomes that do not
 * occur are left out.
 */
function countOutcomes(
  items: readonly { readonly outcome: Outcome }[],
): string {
  const counts = TOTALS_ORDER.map((outcome): [number, string] => [
    items.filter((item) => item.outcome === outcome).length,
    OUTCOME_NAMES[outcome],
  ]);
  return counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
}

/**
 * Returns how many of the tested requirements of each level are met, such as
 * `MUST: 20 of 20 (100 %), SHOULD: 1 of 2 (50 %)`.
 */
export function levelShares(
  requirements: readonly RequirementReport[],
): string {
  const tested = requirements.filter(
    ({ outcome }) => outcome !== Outcome.SKIPPED,
  );
  const shares = [...Map.groupBy(tested, ({ level }) => level)]
    .toSorted(([one], [other]) => one - other)
    .map(([level, items]) => {
      const met = items.filter(({ outcome }) => outcome === Outcome.PASSED);
      const percent = Math.floor((100 * met.length) / items.length);
      return `${LEVEL_NAMES[level]}: ${met.length} of ${items.length} (${percent} %)`;
    });
  return `met of what was tested: ${shares.join(", ") || "nothing was tested"}`;
}
