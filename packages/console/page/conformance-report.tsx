import { fromJsonString } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  Outcome,
  type Report,
  ReportSchema,
  type RequirementReport,
} from "@devtool/conformance/protos";
import { visibleText } from "@devtool/internal/visible-text";
import { type ReactNode, useState } from "react";
import { language, words } from "./words.ts";

/** The order in which requirements are listed: what needs attention first. */
const OUTCOMES: readonly Outcome[] = [
  Outcome.FAILED,
  Outcome.PASSED_THOUGH_KNOWN,
  Outcome.WARNING,
  Outcome.KNOWN_FAILING,
  Outcome.PASSED,
  Outcome.SKIPPED,
];

const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: words.outcomes.skipped,
  [Outcome.PASSED]: words.outcomes.passed,
  [Outcome.FAILED]: words.outcomes.failed,
  [Outcome.SKIPPED]: words.outcomes.skipped,
  [Outcome.KNOWN_FAILING]: words.outcomes.knownFailing,
  [Outcome.PASSED_THOUGH_KNOWN]: words.outcomes.passedThoughKnown,
  [Outcome.WARNING]: words.outcomes.warning,
};

/**
 * Opens a conformance report from a file that is chosen or dropped. The file
 * stays in the browser.
 */
export function ReportOpener(): ReactNode {
  const [json, setJson] = useState("");
  const open = (file: File | undefined): void => {
    // A file that cannot be read is shown as what it is: not a report.
    void file?.text().then(setJson, () => setJson(" "));
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the field does the same without a pointer
    <div
      className="report-opener"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        open(event.dataTransfer.files[0]);
      }}
    >
      <label>
        {words.openReport}
        <input
          type="file"
          accept=".json,application/json"
          onChange={({ currentTarget }) => open(currentTarget.files?.[0])}
        />
      </label>
      {json !== "" && <ConformanceReport json={json} />}
    </div>
  );
}

/**
 * A report of the conformance kit in JSON, requirement by requirement, with
 * what was not met.
 */
function ConformanceReport({ json }: { readonly json: string }): ReactNode {
  const report = readReport(json);
  if (!report) return <p role="alert">{words.noReport}</p>;
  const { agent, agentVersion, subject, suite, binding, kitVersion, time } =
    report;
  const facts = [subject, agentVersion, binding, `kit ${kitVersion}`];
  return (
    <article className="report" aria-label={words.report}>
      <h3>{visibleText([agent, suite].filter(Boolean).join(" · "))}</h3>
      <p className="facts">
        {visibleText(facts.filter(Boolean).join(" · "))}{" "}
        {time && timestampDate(time).toLocaleString(language)}
      </p>
      {OUTCOMES.map((outcome) => (
        <OutcomeList key={outcome} report={report} outcome={outcome} />
      ))}
    </article>
  );
}

interface OutcomeListProps {
  readonly report: Report;
  readonly outcome: Outcome;
}

/**
 * The requirements with one outcome. The list is open if they need attention.
 */
function OutcomeList({ report, outcome }: OutcomeListProps): ReactNode {
  const found = report.requirements.filter(
    (requirement) => requirement.outcome === outcome,
  );
  if (found.length === 0) return null;
  const isOpen =
    outcome === Outcome.FAILED || outcome === Outcome.PASSED_THOUGH_KNOWN;
  return (
    <details open={isOpen} data-outcome={Outcome[outcome]}>
      <summary>
        {found.length} × {OUTCOME_WORDS[outcome]}
      </summary>
      <ul>
        {found.map((requirement) => (
          <Requirement
            key={requirement.id}
            requirement={requirement}
            report={report}
          />
        ))}
      </ul>
    </details>
  );
}

interface RequirementProps {
  readonly requirement: RequirementReport;
  readonly report: Report;
}

/**
 * A requirement, where it comes from, and the reasons of the cases that failed
 * it.
 */
function Requirement({
  requirement: { id, behaviour, source, reason },
  report,
}: RequirementProps): ReactNode {
  const failing = report.cases.filter(({ failures }) =>
    failures.some(({ requirements }) => requirements.includes(id)),
  );
  return (
    <li>
      <code>{visibleText(id)}</code> {visibleText(behaviour)}{" "}
      <span className="facts">{visibleText(source)}</span>
      {reason && <p className="facts">{visibleText(reason)}</p>}
      {failing.map((one) => (
        <div key={one.id} className="failure">
          <code>{visibleText(one.id)}</code>{" "}
          <span className="facts">{visibleText(one.reason)}</span>
          {one.failures.map((failure, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: failures have no other name
            <p key={index}>{visibleText(failure.reason)}</p>
          ))}
        </div>
      ))}
    </li>
  );
}

/**
 * Reads a report. Returns undefined for what is none, as a file without a suite
 * is.
 */
function readReport(json: string): Report | undefined {
  try {
    const report = fromJsonString(ReportSchema, json, {
      ignoreUnknownFields: true,
    });
    return report.suite === "" ? undefined : report;
  } catch {
    return undefined;
  }
}
