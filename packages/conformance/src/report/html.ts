import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import { type CaseReport, Outcome, type Report, type RequirementReport } from "@devtool/schema/conformance";
import { exchangeText } from "./junit.ts";
import { PAGE_STYLE } from "./page-style.ts";
import { OUTCOME_NAMES, sumText } from "./table.ts";

/** Reports as one page of HTML that needs nothing else: no script, no font, no network. */
export function htmlPage(reports: readonly Report[]): string {
  const title = reports.length === 1 && reports[0] ? titleOf(reports[0]) : "Conformance";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
${reports.map((report, index) => section(report, index)).join("\n")}
</main>
</body>
</html>
`;
}

function titleOf({ agent, subject, protocolVersion, binding }: Report): string {
  return `${agent || subject}: A2A ${protocolVersion} over ${binding}`;
}

function section(report: Report, index: number): string {
  const { subject, agentVersion, kitVersion, time, requirements, cases } = report;
  const when = time ? timestampDate(time).toISOString().slice(0, 16).replace("T", " ") : "";
  const facts = [subject, agentVersion && `version ${agentVersion}`, `kit ${kitVersion}`, when && `${when} UTC`];
  const shown = facts.filter((fact) => fact !== "").map((fact) => `<span>${escapeHtml(fact)}</span>`);
  return `<section>
<h1>${escapeHtml(titleOf(report))}</h1>
<p class="facts">${shown.join(" ")}</p>
<p class="sum">${escapeHtml(sumText(requirements))} of ${requirements.length} requirements</p>
${bar(requirements)}
<h2>Requirements</h2>
<ul class="rows">
${requirements.map((item) => requirementRow(item, cases, index)).join("\n")}
</ul>
<h2>Cases</h2>
<p class="sum">${escapeHtml(sumText(cases))} of ${cases.length} cases</p>
<ul class="rows">
${cases.map((item) => caseRow(item, index)).join("\n")}
</ul>
</section>`;
}

/** How the requirements came out, at a glance; the words above it say the same. */
function bar(requirements: readonly RequirementReport[]): string {
  const parts = BAR_ORDER.map((outcome) => ({
    outcome,
    count: requirements.filter((item) => item.outcome === outcome).length,
  }));
  const spans = parts
    .filter(({ count }) => count > 0)
    .map(({ outcome, count }) => `<i class="${CLASSES[outcome]}" style="flex:${count}"></i>`);
  return `<div class="bar" aria-hidden="true">${spans.join("")}</div>`;
}

const BAR_ORDER = [
  Outcome.FAILED,
  Outcome.PASSED_THOUGH_KNOWN,
  Outcome.KNOWN_FAILING,
  Outcome.PASSED,
  Outcome.SKIPPED,
] as const;

const CLASSES: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "skipped",
  [Outcome.PASSED]: "passed",
  [Outcome.FAILED]: "failed",
  [Outcome.SKIPPED]: "skipped",
  [Outcome.KNOWN_FAILING]: "known",
  [Outcome.PASSED_THOUGH_KNOWN]: "failed",
};

function requirementRow(item: RequirementReport, cases: readonly CaseReport[], index: number): string {
  const { id, behaviour, source, outcome, reason, cases: named } = item;
  const head = `${chip(outcome)}<span class="id">${escapeHtml(id)}</span><span class="what">${escapeHtml(behaviour)}</span><span class="source">${escapeHtml(source)}</span>`;
  const failing = cases.filter(({ failures }) => failures.some(({ requirements }) => requirements.includes(id)));
  if (failing.length === 0) {
    const why = reason === "" ? "" : `<p class="why">${escapeHtml(reason)}</p>`;
    return `<li><div class="head">${head}</div>${why}</li>`;
  }
  const told = failing.flatMap((one) =>
    one.failures
      .filter(({ requirements }) => requirements.includes(id))
      .map(
        (failure) =>
          `<p class="why"><a href="#${anchor(one.id, index)}">${escapeHtml(one.id)}</a> ${escapeHtml(failure.reason)}</p>`,
      ),
  );
  const shownBy = `<p class="why">Shown by ${named.length} ${named.length === 1 ? "case" : "cases"}.</p>`;
  return `<li><details><summary class="head">${head}</summary>${told.join("")}${shownBy}</details></li>`;
}

function caseRow(item: CaseReport, index: number): string {
  const { id, requirements, outcome, reason, duration, failures, exchanges } = item;
  const time = duration && outcome !== Outcome.SKIPPED ? `${durationMs(duration)} ms` : "";
  const head = `${chip(outcome)}<span class="id">${escapeHtml(id)}</span><span class="what">${escapeHtml(requirements.join(" "))}</span><span class="source">${time}</span>`;
  const why = reason === "" ? "" : `<p class="why">${escapeHtml(reason)}</p>`;
  const name = ` id="${anchor(id, index)}"`;
  if (failures.length === 0) return `<li${name}><div class="head">${head}</div>${why}</li>`;
  const told = failures.map((failure) => `<p class="why">${escapeHtml(failure.reason)}</p>`).join("");
  const evidence = exchanges.map(
    (record) => `<h3>Step ${record.step}</h3><pre>${escapeHtml(exchangeText(record))}</pre>`,
  );
  return `<li${name}><details><summary class="head">${head}</summary>${why}${told}${evidence.join("")}</details></li>`;
}

function chip(outcome: Outcome): string {
  return `<span class="chip ${CLASSES[outcome]}">${OUTCOME_NAMES[outcome]}</span>`;
}

function anchor(id: string, index: number): string {
  return `case-${index}-${id.replaceAll(/[^\w-]/g, "-")}`;
}

/** What came from outside is text: nothing of it is HTML, and what would hide or reorder characters is shown as its code. */
function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
      char === "\n" || char === "\t" ? char : `\\u{${char.codePointAt(0)?.toString(16)}}`,
    )
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
