import {
  type CaseReport,
  Outcome,
  type Report,
  type RequirementReport,
} from "../protos.ts";
import { html, type Markup } from "./markup.ts";
import { OUTCOME_CLASSES, OUTCOME_ORDER, outcomeMark } from "./outcome-mark.ts";
import { levelShares } from "./table.ts";

/**
 * Renders the number of cases and requirements per outcome as a table, and that
 * of requirements as a bar.
 */
export function totalsTable({ requirements, cases }: Report): Markup {
  const outcomes = OUTCOME_ORDER.filter(
    (outcome) => ALWAYS.has(outcome) || countOutcome(outcome, cases) > 0,
  );
  const bars = outcomes
    .map(
      (outcome) =>
        [
          OUTCOME_CLASSES[outcome],
          countOutcome(outcome, requirements),
        ] as const,
    )
    .filter(([, count]) => count > 0)
    .map(
      ([look, count]) => html`<i class="${look}" style="flex:${count}"></i>`,
    );
  return html`<table class="totals">
<thead><tr><th scope="col">Result</th><th scope="col">Cases</th><th scope="col">Requirements</th></tr></thead>
<tbody>
${outcomes.map((outcome) => totalsRow(outcomeMark(outcome), countOutcome(outcome, cases), countOutcome(outcome, requirements)))}
${totalsRow(html`all`, cases.length, requirements.length)}
</tbody>
</table>
<div class="bar" aria-hidden="true">${bars}</div>
<p class="note">${levelShares(requirements)}</p>`;
}

/**
 * The outcomes that are listed even if they do not occur.
 */
const ALWAYS: ReadonlySet<Outcome> = new Set([
  Outcome.FAILED,
  Outcome.PASSED,
  Outcome.SKIPPED,
]);

function totalsRow(name: Markup, cases: number, requirements: number): Markup {
  return html`<tr><th scope="row">${name}</th><td>${cases}</td><td>${requirements}</td></tr>`;
}

function countOutcome(
  outcome: Outcome,
  items: readonly Pick<CaseReport | RequirementReport, "outcome">[],
): number {
  return items.filter((item) => item.outcome === outcome).length;
}
