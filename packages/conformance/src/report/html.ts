import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import { type CaseReport, Outcome, type Report, type RequirementReport } from "@devtool/schema/conformance";
import { evidenceArticle } from "./evidence-html.ts";
import { html, type Markup } from "./markup.ts";
import { PAGE_STYLE } from "./page-style.ts";
import { type ResultRow, resultTables } from "./result-table.ts";
import { sourceLinks } from "./source-link.ts";
import { playedText } from "./table.ts";
import { totalsTable } from "./totals-table.ts";

/** Reports as one page of HTML that needs nothing else: no script, no font, no network; its policy lets it have none. */
export function htmlPage(reports: readonly Report[]): string {
  const [only, ...others] = reports;
  const title = only && others.length === 0 ? titleOf(only) : "Conformance";
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

function titleOf(report: Report): string {
  return `${report.agent || report.subject}: ${playedText(report)}`;
}

function reportSection(report: Report, index: number): Markup {
  const { requirements, cases } = report;
  const named = (item: CaseReport): string => `case-${index}-${item.id.replaceAll(/[^\w-]/g, "-")}`;
  return html`<section>
<h1>${titleOf(report)}</h1>
<p class="facts">${factsOf(report).map((fact) => html`<span>${fact}</span>`)}</p>
${totalsTable(report)}
${evidence("What to look at", cases.filter(isRed), { report, named })}
${evidence("Known to fail", cases.filter(isKnown), { report, named })}
<h2>Requirements</h2>
${resultTables(
  requirements.map((item) => requirementRow(item, cases, named)),
  ["Requirement", "Source"],
)}
<p class="note">“own” is what the RFC and A2A leave open, and docs/wire.md of the kit decides.</p>
<h2>Cases</h2>
${resultTables(
  cases.map((item) => caseRow(item, named(item))),
  ["Case", "Time"],
)}
</section>`;
}

function factsOf({ subject, agentVersion, kitVersion, time }: Report): string[] {
  const when = time ? `${timestampDate(time).toISOString().slice(0, 16).replace("T", " ")} UTC` : "";
  return [subject, agentVersion && `version ${agentVersion}`, `kit ${kitVersion}`, when].filter((fact) => fact !== "");
}

/** The name of a case in links of the page. */
type Named = (item: CaseReport) => string;

function evidence(
  title: string,
  cases: readonly CaseReport[],
  { report, named }: { readonly report: Report; readonly named: Named },
): Markup {
  if (cases.length === 0) return html``;
  return html`<h2>${title}</h2>
${cases.map((item) => evidenceArticle(item, report, named(item)))}`;
}

function isRed({ outcome }: CaseReport): boolean {
  return outcome === Outcome.FAILED || outcome === Outcome.PASSED_THOUGH_KNOWN;
}

function isKnown({ outcome }: CaseReport): boolean {
  return outcome === Outcome.KNOWN_FAILING;
}

function requirementRow(item: RequirementReport, cases: readonly CaseReport[], named: Named): ResultRow {
  const failing = cases.filter(({ failures }) => failures.some(({ requirements }) => requirements.includes(item.id)));
  const links = failing.map((one) => html`<a href="#${named(one)}">${one.id}</a>`);
  return {
    outcome: item.outcome,
    id: html`${item.id}`,
    what: item.behaviour,
    why: links.length > 0 ? html`see ${links}` : html`${item.reason}`,
    aside: html`<small>${sourceLinks(item.source)}</small>`,
  };
}

function caseRow({ id, requirements, outcome, reason, duration }: CaseReport, name: string): ResultRow {
  const isShown = outcome !== Outcome.PASSED && outcome !== Outcome.SKIPPED;
  return {
    outcome,
    id: isShown ? html`<a href="#${name}">${id}</a>` : html`${id}`,
    what: requirements.join(" "),
    why: html`${isShown ? "" : reason}`,
    aside: html`<small>${duration && outcome !== Outcome.SKIPPED ? `${durationMs(duration)} ms` : ""}</small>`,
  };
}
