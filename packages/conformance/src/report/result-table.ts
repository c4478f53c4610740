import { Outcome } from "@devtool/schema/conformance";
import { html, type Markup } from "./markup.ts";
import { OUTCOME_ORDER, outcomeMark } from "./outcome-mark.ts";
import { OUTCOME_WORDS } from "./table.ts";

/** A line of a table of results. */
export interface ResultRow {
  readonly outcome: Outcome;
  readonly id: Markup;
  readonly what: string;
  /** Why it came out so, below the rest; may be empty. */
  readonly why: Markup;
  /** What stands in the last column. */
  readonly aside: Markup;
}

/** Results as a table, the worst first; what was not shown is folded away behind it. */
export function resultTables(rows: readonly ResultRow[], heads: readonly [string, string]): Markup {
  const played = OUTCOME_ORDER.flatMap((outcome) => rows.filter((row) => row.outcome === outcome && !isSkipped(row)));
  const skipped = rows.filter(isSkipped);
  const folded = html`<details><summary>${skipped.length} ${OUTCOME_WORDS[Outcome.SKIPPED]}, and why</summary>
${resultTable(skipped, heads)}
</details>`;
  return html`${played.length > 0 ? resultTable(played, heads) : ""}
${skipped.length > 0 ? folded : ""}`;
}

function isSkipped({ outcome }: ResultRow): boolean {
  return outcome === Outcome.SKIPPED;
}

function resultTable(rows: readonly ResultRow[], [what, aside]: readonly [string, string]): Markup {
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
