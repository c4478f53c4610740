import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CaseResult } from "../play/case-result.ts";
import {
  type CaseReport,
  CaseReportSchema,
  type KnownFailing,
  KnownFailingSchema,
  Level,
  Outcome,
  type Report,
  ReportSchema,
  type RequirementReport,
  RequirementReportSchema,
} from "../protos.ts";
import { levelOf, type Requirement } from "../requirement/requirement.ts";
import { REQUIREMENTS } from "../requirement/requirements.ts";
import { KIT_VERSION } from "../version.ts";
import { type BindingId, knownFailuresFor } from "./known-failing.ts";

/**
 * The server or program that was tested.
 */
export interface ReportSubject {
  /**
   * The address of a server, or the command of a program.
   */
  readonly name: string;
  /**
   * Its own name. Empty if unknown.
   */
  readonly agent: string;
  /**
   * Its version. Empty if unknown.
   */
  readonly agentVersion: string;
  /**
   * The binding that it was tested over. Absent for a program.
   */
  readonly binding?: BindingId;
}

/**
 * Input of `createReport`.
 */
export interface ReportInput {
  /**
   * The name of the suite, for instance `A2A 1.0 server`.
   */
  readonly suite: string;
  readonly subject: ReportSubject;
  /**
   * The results in the order in which the cases were played.
   */
  readonly results: readonly CaseResult[];
  /**
   * The cases that are known to fail.
   *
   * Default: none.
   */
  readonly known?: KnownFailing;
  /**
   * The lowest level whose requirements can fail a case. What breaks only
   * requirements below it is a warning.
   *
   * Default: `MUST`.
   */
  readonly level?: Level;
  /**
   * When the suite was played.
   */
  readonly time: Date;
}

/**
 * Builds the report of a suite from its results and the list of known failures.
 *
 * A listed case that passes, or that does not exist, is an error of the list
 * and makes the report unclean.
 *
 * ```ts
 * const results = await Array.fromAsync(runServerSuite(subject, signal));
 * const report = createReport({ suite: "A2A 1.0 server", subject: { name: url, agent, agentVersion }, results, time });
 * console.log(reportTable(report));
 * ```
 */
export function createReport({
  suite,
  subject,
  results,
  known = NONE,
  level = Level.MUST,
  time,
}: ReportInput): Report {
  const { name, agent, agentVersion, binding = NO_BINDING } = subject;
  const decides = (id: string): boolean => {
    const requirement = REQUIREMENTS[id];
    return !requirement || levelOf(requirement, binding.name) <= level;
  };
  const listed = knownFailuresFor(known, binding);
  const stray = listed.filter(
    ({ id }) => !results.some((result) => result.id === id),
  );
  const cases = [
    ...results.map((result) =>
      caseReport(
        result,
        listed.find(({ id }) => id === result.id)?.reason ?? readingOf(result),
        decides,
      ),
    ),
    ...stray.map(({ id }) => {
      const reason =
        "is listed as known to fail, and there is no such case: remove it from the list";
      return create(CaseReportSchema, {
        id,
        outcome: Outcome.FAILED,
        failures: [{ reason }],
      });
    }),
  ];
  return create(ReportSchema, {
    suite,
    subject: name,
    agent,
    agentVersion,
    protocolVersion: binding.protocolVersion,
    binding: binding.name,
    kitVersion: KIT_VERSION,
    time: timestampFromDate(time),
    cases,
    requirements: Object.entries(REQUIREMENTS)
      .filter(([id]) => cases.some((item) => isAbout(item, id)))
      .map(([id, requirement]) => ({
        ...requirementReport(
          id,
          requirement,
          cases,
          decides(id) ? Outcome.FAILED : Outcome.WARNING,
        ),
        level: levelOf(requirement, binding.name),
      })),
    level,
  });
}

/** Whether a case tests a requirement, or breaks it as a law. */
function isAbout({ requirements, failures }: CaseReport, id: string): boolean {
  return [{ requirements }, ...failures].some((each) =>
    each.requirements.includes(id),
  );
}

const NO_BINDING = { name: "", protocolVersion: "" } as const;
const NONE: KnownFailing = create(KnownFailingSchema);

/**
 * Returns whether a report has nothing that needs attention: no failure, and no
 * error of the list.
 */
export function isClean({ cases }: Report): boolean {
  return cases.every(
    ({ outcome }) =>
      outcome !== Outcome.FAILED && outcome !== Outcome.PASSED_THOUGH_KNOWN,
  );
}

function caseReport(
  result: CaseResult,
  known: string | undefined,
  decides: (requirement: string) => boolean,
): CaseReport {
  const {
    id,
    requirements,
    durationMs,
    warnings = [],
    exchanges = [],
  } = result;
  const failures =
    result.failures ??
    (result.status === "failed"
      ? [{ requirements, step: 0, reason: result.reason ?? "" }]
      : []);
  const isFailed = failures.some((one) => one.requirements.some(decides));
  return create(CaseReportSchema, {
    id,
    requirements: [...requirements],
    ...caseOutcome(result, known, isFailed ? Outcome.FAILED : Outcome.WARNING),
    duration: durationFromMs(durationMs),
    failures: failures.map(({ requirements, step, reason }) => ({
      requirements: [...requirements],
      step,
      reason,
    })),
    exchanges: [...exchanges],
    warnings: [...warnings],
  });
}

/**
 * Returns the reading that a server chose where two requirements contradict
 * each other. Such a case counts as known to fail without being listed. Returns
 * undefined if it failed in another way too.
 */
function readingOf({ failures = [] }: CaseResult): string | undefined {
  const [first, ...others] = failures.map(({ reading }) => reading);
  return others.every((other) => other === first) ? first : undefined;
}

/**
 * Returns the outcome of a case and the reason for it. `known` is the reason
 * why the case is known to fail, `failed` the outcome of one that is not.
 */
function caseOutcome(
  { status, reason = "" }: CaseResult,
  known: string | undefined,
  failed: Outcome,
): Pick<CaseReport, "outcome" | "reason"> {
  switch (status) {
    case "passed":
      if (known === undefined) return { outcome: Outcome.PASSED, reason: "" };
      return {
        outcome: Outcome.PASSED_THOUGH_KNOWN,
        reason: `is listed as known to fail ("${known}") and passes: remove it from the list`,
      };
    case "failed":
      if (known === undefined) return { outcome: failed, reason: "" };
      return { outcome: Outcome.KNOWN_FAILING, reason: known };
    case "skipped":
      return { outcome: Outcome.SKIPPED, reason };
  }
}

function requirementReport(
  id: string,
  requirement: Requirement,
  cases: readonly CaseReport[],
  failed: Outcome,
): RequirementReport {
  const { behaviour, source } = requirement;
  const about = cases.filter(({ requirements }) => requirements.includes(id));
  const failing = cases.filter(({ failures }) =>
    failures.some(({ requirements }) => requirements.includes(id)),
  );
  const isFailed = failing.some((item) => item.outcome === Outcome.FAILED);
  const worst = isFailed ? failed : failing[0]?.outcome;
  const isShown = about.some((item) => PASSED_OUTCOMES.includes(item.outcome));
  const outcome = worst ?? (isShown ? Outcome.PASSED : Outcome.SKIPPED);
  const explained = about.find(({ reason }) => reason !== "");
  const whySkipped = explained
    ? `${explained.id}: ${explained.reason}`
    : "something before it failed in each of its cases";
  const reason = outcome === Outcome.SKIPPED ? whySkipped : "";
  const named = [...new Set([...about, ...failing])].map((item) => item.id);
  return create(RequirementReportSchema, {
    id,
    behaviour,
    source,
    outcome,
    reason,
    cases: named,
  });
}

const PASSED_OUTCOMES: readonly Outcome[] = [
  Outcome.PASSED,
  Outcome.PASSED_THOUGH_KNOWN,
];
