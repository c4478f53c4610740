import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import { type CaseReport, Outcome, type Report, type RequirementReport } from "@devtool/schema/conformance";
import { evidenceArticle } from "./evidence-html.ts";
import { html, type Markup } from "./markup.ts";
import { OUTCOME_CLASSES, OUTCOME_ORDER, outcomeMark } from "./outcome-mark.ts";
import { PAGE_STYLE } from "./page-style.ts";
import { sourceLinks } from "./source-link.ts";
import { OUTCOME_WORDS, playedText } from "./table.ts";

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
${totals(report)}
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

/** How many came out how: a table, and the same of the requirements as a bar. */
function totals({ requirements, cases }: Report): Markup {
  const outcomes = OUTCOME_ORDER.filter((outcome) => ALWAYS.has(outcome) || countOf(outcome, cases) > 0);
  const bars = outcomes
    .map((outcome) => [OUTCOME_CLASSES[outcome], countOf(outcome, requirements)] as const)
    .filter(([, count]) => count > 0)
    .map(([look, count]) => html`<i class="${look}" style="flex:${count}"></i>`);
  return html`<table class="totals">
<thead><tr><th scope="col">Result</th><th scope="col">Cases</th><th scope="col">Requirements</th></tr></thead>
<tbody>
${outcomes.map((outcome) => totalsRow(outcomeMark(outcome), countOf(outcome, cases), countOf(outcome, requirements)))}
${totalsRow(html`all`, cases.length, requirements.length)}
</tbody>
</table>
<div class="bar" aria-hidden="true">${bars}</div>`;
}

/** The outcomes that are counted also when there are none. */
const ALWAYS: ReadonlySet<Outcome> = new Set([Outcome.FAILED, Outcome.PASSED, Outcome.SKIPPED]);

function totalsRow(name: Markup, cases: number, requirements: number): Markup {
  return html`<tr><th scope="row">${name}</th><td>${cases}</td><td>${requirements}</td></tr>`;
}

function countOf(outcome: Outcome, items: readonly Pick<CaseReport | RequirementReport, "outcome">[]): number {
  return items.filter((item) => item.outcome === outcome).length;
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

/** A line of a table of results. */
interface Row {
  readonly outcome: Outcome;
  readonly id: Markup;
  readonly what: string;
  readonly notes: readonly Markup[];
  readonly aside: Markup;
}

/** Results as a table, the worst first; what was not shown is folded away behind it. */
function resultTables(rows: readonly Row[], heads: readonly [string, string]): Markup {
  const played = OUTCOME_ORDER.flatMap((outcome) => rows.filter((row) => row.outcome === outcome && !isSkipped(row)));
  const skipped = rows.filter(isSkipped);
  const folded = html`<details><summary>${skipped.length} ${OUTCOME_WORDS[Outcome.SKIPPED]}, and why</summary>
${resultTable(skipped, heads)}
</details>`;
  return html`${played.length > 0 ? resultTable(played, heads) : ""}
${skipped.length > 0 ? folded : ""}`;
}

function isSkipped({ outcome }: Row): boolean {
  return outcome === Outcome.SKIPPED;
}

function resultTable(rows: readonly Row[], [what, aside]: readonly [string, string]): Markup {
  const lines = rows.map(
    (row) =>
      html`<tr><td>${outcomeMark(row.outcome)}</td><th scope="row"><div class="pair"><code>${row.id}</code><span>${row.what}</span></div>${row.notes}</th><td>${row.aside}</td></tr>`,
  );
  return html`<table class="results">
<thead><tr><th scope="col">Result</th><th scope="col">${what}</th><th scope="col">${aside}</th></tr></thead>
<tbody>
${lines}
</tbody>
</table>`;
}

function requirementRow(item: RequirementReport, cases: readonly CaseReport[], named: Named): Row {
  const failing = cases.filter(({ failures }) => failures.some(({ requirements }) => requirements.includes(item.id)));
  const links = failing.map((one) => html`<p class="why">see <a href="#${named(one)}">${one.id}</a></p>`);
  const why = item.reason === "" ? [] : [html`<p class="why">${item.reason}</p>`];
  return {
    outcome: item.outcome,
    id: html`${item.id}`,
    what: item.behaviour,
    notes: [...links, ...why],
    aside: html`<small>${sourceLinks(item.source)}</small>`,
  };
}

function caseRow({ id, requirements, outcome, reason, duration }: CaseReport, name: string): Row {
  const isShown = outcome !== Outcome.PASSED && outcome !== Outcome.SKIPPED;
  return {
    outcome,
    id: isShown ? html`<a href="#${name}">${id}</a>` : html`${id}`,
    what: requirements.join(" "),
    notes: reason === "" || isShown ? [] : [html`<p class="why">${reason}</p>`],
    aside: html`<small>${duration && outcome !== Outcome.SKIPPED ? `${durationMs(duration)} ms` : ""}</small>`,
  };
}
