import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type CaseReport,
  Outcome,
  type Report,
  type RequirementReport,
} from "../protos.ts";
import { evidenceArticle, sourceLinks } from "./evidence-html.ts";
import { html, type Markup } from "./markup.ts";
import { PAGE_STYLE } from "./page-style.ts";
import { type ResultRow, resultTables } from "./result-table.ts";
import { LEVEL_NAMES, RED_OUTCOMES, suiteTitle } from "./table.ts";
import { totalsTable } from "./totals-table.ts";

/**
 * Renders reports as one self-contained page of HTML. It has no scripts and
 * loads nothing; its content security policy forbids both.
 */
export function htmlPage(reports: readonly Report[]): string {
  const [only, ...others] = reports;
  const title = only && others.length === 0 ? reportTitle(only) : "Conformance";
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>${title}</title>
${PAGE_STYLE}
</head>
<body>
<main>
${reports.map(reportSection)}
</main>
</body>
</html>
`;
  return page.text;
}

function reportTitle(report: Report): string {
  return `${report.agent || report.subject}: ${suiteTitle(report)}`;
}

function reportSection(report: Report, index: number): Markup {
  const { requirements, cases, subject, agentVersion, kitVersion, time } =
    report;
  const when = time
    ? `${timestampDate(time).toISOString().slice(0, 16).replace("T", " ")} UTC`
    : "";
  const facts = [
    subject,
    agentVersion && `version ${agentVersion}`,
    `kit ${kitVersion}`,
    when,
  ];
  const anchorOf: AnchorOf = (item) =>
    `case-${index}-${item.id.replaceAll(/[^\w-]/g, "-")}`;
  return html`<section>
<h1>${reportTitle(report)}</h1>
<p class="facts">${facts.filter((fact) => fact !== "").map((fact) => html`<span>${fact}</span>`)}</p>
${totalsTable(report)}
${evidence("What to look at", report, RED_OUTCOMES, anchorOf)}
${evidence("Warnings", report, [Outcome.WARNING], anchorOf)}
${warningList(report)}
${evidence("Known to fail", report, [Outcome.KNOWN_FAILING], anchorOf)}
<h2>Requirements</h2>
${resultTables(
  requirements.map((item) => requirementRow(item, cases, anchorOf)),
  ["Requirement", "Source"],
)}
<p class="note">“own” marks what the RFC and A2A leave open and docs/wire.md decides.</p>
<h2>Cases</h2>
${resultTables(
  cases.map((item) => caseRow(item, anchorOf(item))),
  ["Case", "Time"],
)}
</section>`;
}

/**
 * Returns the anchor of a case in the page.
 */
type AnchorOf = (item: CaseReport) => string;

/**
 * Renders the cases with one of the outcomes, with their evidence.
 */
function evidence(
  title: string,
  report: Report,
  outcomes: readonly Outcome[],
  anchorOf: AnchorOf,
): Markup {
  const cases = report.cases.filter(({ outcome }) =>
    outcomes.includes(outcome),
  );
  if (cases.length === 0) return html``;
  return html`<h2>${title}</h2>
${cases.map((item) => evidenceArticle(item, report, anchorOf(item)))}`;
}

/**
 * Renders what is allowed but a client would trip over: each warning once, with
 * the cases in which it came.
 */
function warningList({ cases }: Report): Markup {
  const warnings = new Set(cases.flatMap((item) => item.warnings));
  if (warnings.size === 0) return html``;
  const items = [...warnings].map((warning) => {
    const ids = cases
      .filter((item) => item.warnings.includes(warning))
      .map(({ id }) => id);
    return html`<li>${warning} <small>${ids.join(", ")}</small></li>`;
  });
  return html`<h2>Allowed, but clients trip over it</h2>
<ul>${items}</ul>`;
}

function requirementRow(
  item: RequirementReport,
  cases: readonly CaseReport[],
  anchorOf: AnchorOf,
): ResultRow {
  const failing = cases.filter(({ failures }) =>
    failures.some(({ requirements }) => requirements.includes(item.id)),
  );
  const links = failing.map(
    (one) => html`<a href="#${anchorOf(one)}">${one.id}</a>`,
  );
  return {
    outcome: item.outcome,
    id: html`${item.id}`,
    what: item.behaviour,
    why: links.length > 0 ? html`see ${links}` : html`${item.reason}`,
    aside: html`<small>${LEVEL_NAMES[item.level]}: ${sourceLinks(item.source)}</small>`,
  };
}

function caseRow(
  { id, requirements, outcome, reason, duration }: CaseReport,
  anchor: string,
): ResultRow {
  const isShown = outcome !== Outcome.PASSED && outcome !== Outcome.SKIPPED;
  return {
    outcome,
    id: isShown ? html`<a href="#${anchor}">${id}</a>` : html`${id}`,
    what: requirements.join(" "),
    why: html`${isShown ? "" : reason}`,
    aside: html`<small>${duration && outcome !== Outcome.SKIPPED ? `${durationMs(duration)} ms` : ""}</small>`,
  };
}
