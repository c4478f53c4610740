import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type CaseReport,
  CaseReportSchema,
  type KnownFailing,
  KnownFailingSchema,
  Outcome,
  type Report,
  ReportSchema,
  type RequirementReport,
  RequirementReportSchema,
} from "@devtool/schema/conformance";
import type { Binding } from "../binding/binding.ts";
import type { CaseResult } from "../case-result.ts";
import type { Requirement } from "../requirement.ts";
import { REQUIREMENTS } from "../requirements.ts";
import { KIT_VERSION } from "../version.ts";
import { knownFailure, strayFailures } from "./known-failing.ts";

/** Who was tested. */
export interface ReportSubject {
  /** The address of a server, or the command of a program. */
  readonly name: string;
  /** What it calls itself. Empty when it does not say. */
  readonly agent: string;
  /** Its version. Empty when it does not say. */
  readonly agentVersion: string;
  /** How it was spoken to; left out for a program. */
  readonly binding?: Pick<Binding, "name" | "protocolVersion">;
}

/** What a report is about. */
export interface ReportInput {
  /** What was played, for instance `A2A 1.0 server`. */
  readonly suite: string;
  readonly subject: ReportSubject;
  /** The cases in the order in which they were played. */
  readonly results: readonly CaseResult[];
  /** The cases that are known to fail. Default: none. */
  readonly known?: KnownFailing;
  readonly time: Date;
}

/** Puts together what became of a suite, with the list of known failures held against it. */
export function createReport({ suite, subject, results, known = NONE, time }: ReportInput): Report {
  const { name, agent, agentVersion, binding = NO_BINDING } = subject;
  const ids = results.map(({ id }) => id);
  const strays = strayFailures(known, ids, binding).map(strayReport);
  const cases = [
    ...results.map((result) =>
      caseReport(result, knownFailure(known, result.id, binding)?.reason ?? readingOf(result)),
    ),
    ...strays,
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
      .filter(([, requirement]) => (requirement.protocolVersion ?? binding.protocolVersion) === binding.protocolVersion)
      .map(([id, requirement]) => requirementReport(id, requirement, cases)),
  });
}

const NO_BINDING = { name: "", protocolVersion: "" } as const;
const NONE: KnownFailing = create(KnownFailingSchema);

/** Returns whether a report has anything that somebody must look at. */
export function isClean({ cases }: Report): boolean {
  return cases.every(({ outcome }) => outcome !== Outcome.FAILED && outcome !== Outcome.PASSED_THOUGH_KNOWN);
}

function caseReport(result: CaseResult, known: string | undefined): CaseReport {
  const { id, requirements, durationMs, exchanges = [] } = result;
  const failures =
    result.failures ?? (result.status === "failed" ? [{ requirements, step: 0, reason: result.reason ?? "" }] : []);
  return create(CaseReportSchema, {
    id,
    requirements: [...requirements],
    outcome: outcomeOf(result.status, known),
    reason: reasonOf(result, known),
    duration: durationFromMs(durationMs),
    failures: failures.map(({ requirements, step, reason }) => ({ requirements: [...requirements], step, reason })),
    exchanges: [...exchanges],
  });
}

/**
 * The reading that a server chose where two requirements contradict each other: such a case is known to fail without a list
 * that says so. Undefined when it failed in any other way too.
 */
export function readingOf({ failures = [] }: CaseResult): string | undefined {
  const [first, ...others] = failures.map(({ reading }) => reading);
  return others.every((other) => other === first) ? first : undefined;
}

function outcomeOf(status: CaseResult["status"], known: string | undefined): Outcome {
  switch (status) {
    case "passed":
      return known === undefined ? Outcome.PASSED : Outcome.PASSED_THOUGH_KNOWN;
    case "failed":
      return known === undefined ? Outcome.FAILED : Outcome.KNOWN_FAILING;
    case "skipped":
      return Outcome.SKIPPED;
  }
}

function reasonOf({ status, reason = "" }: CaseResult, known: string | undefined): string {
  if (status === "skipped") return reason;
  if (known === undefined) return "";
  return status === "failed" ? known : `is listed as known to fail ("${known}") and passes: take it off the list`;
}

function strayReport({ id }: { readonly id: string }): CaseReport {
  const reason = "is listed as known to fail, and there is no such case: take it off the list";
  return create(CaseReportSchema, { id, outcome: Outcome.FAILED, failures: [{ reason }] });
}

function requirementReport(id: string, requirement: Requirement, cases: readonly CaseReport[]): RequirementReport {
  const { behaviour, source, owed } = requirement;
  const about = cases.filter(({ requirements }) => requirements.includes(id));
  const failing = cases.filter(({ failures }) => failures.some(({ requirements }) => requirements.includes(id)));
  const outcome = worst(failing) ?? (about.some(isPassed) ? Outcome.PASSED : Outcome.SKIPPED);
  const reason = outcome === Outcome.SKIPPED ? (owed ?? unshown(about)) : "";
  const named = [...new Set([...about, ...failing])].map((item) => item.id);
  return create(RequirementReportSchema, { id, behaviour, source, outcome, reason, cases: named });
}

function worst(failing: readonly CaseReport[]): Outcome | undefined {
  if (failing.some(({ outcome }) => outcome === Outcome.FAILED)) return Outcome.FAILED;
  return failing[0]?.outcome;
}

function isPassed({ outcome }: CaseReport): boolean {
  return outcome === Outcome.PASSED || outcome === Outcome.PASSED_THOUGH_KNOWN;
}

function unshown(about: readonly CaseReport[]): string {
  const skipped = about.find(({ reason }) => reason !== "");
  if (skipped) return `${skipped.id}: ${skipped.reason}`;
  return about.length === 0 ? "no case of this suite is about it" : "something before it failed in each of its cases";
}
