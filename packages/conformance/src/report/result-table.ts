import { Outcome } from "../protos.ts";
import { html, type Markup } from "./markup.ts";
import { OUTCOME_ORDER, outcomeMark } from "./outcome-mark.ts";
import { OUTCOME_NAMES } from "./table.ts";

/**
 * A row of a table of results.
 */
export interface ResultRow {
  readonly outcome: Outcome;
  readonly id: Markup;
  readonly what: string;
  /**
   * The explanation of the outcome, below the rest. May be empty.
   */
  readonly why: Markup;
  /**
   * The last column.
   */
  readonly aside: Markup;
}

/**
 * Renders results as a table, worst first. Skipped ones follow in a folded
 * table.
 */
export function resultTables(
  rows: readonly ResultRow[],
  heads: readonly [string, string],
): Markup {
  const played = OUTCOME_ORDER.flatMap((outcome) =>
    rows.filter((row) => row.outcome === outcome),
  ).filter(({ outcome }) => outcome !== Outcome.SKIPPED);
  const skipped = rows.filter(({ outcome }) => outcome === Outcome.SKIPPED);
  const folded = html`<details><summary>${skipped.length} ${OUTCOME_NAMES[Outcome.SKIPPED]}, and why</summary>
${resultTable(skipped, heads)}
</details>`;
  return html`${played.length > 0 ? resultTable(played, heads) : ""}
${skipped.length > 0 ? folded : ""}`;
}

function resultTable(
  rows: readonly ResultRow[],
  [what, aside]: readonly [string, string],
): Markup {
  const lines = rows.map(
    (row) =>
      html`<tr><td>${outcomeMark(row.outcome)}</td><th scope="row"><div class="pair"><code>${row.id}</code><span>${row.what}</span></div><div class="why">${row.why}</div></th><td>${row.aside}</td></tr>`,
  );
  return html`<table class="results">
<thead><tr><th scope="col">Result</th><th scope="col">${what}</th><th scope="col">${aside}</th></tr></thead>
<tbody>
${lines}
</tbody>
</table>`;
}
