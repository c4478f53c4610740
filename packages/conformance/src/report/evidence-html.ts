import { type CaseReport, type ExchangeRecord, Outcome, type Report } from "@devtool/schema/conformance";
import { cameText, sentText } from "./exchange-text.ts";
import { html, type Markup } from "./markup.ts";
import { outcomeMark } from "./outcome-mark.ts";
import { sourceLinks } from "./source-link.ts";

/** A case that did not go well: what was not met, and the exchanges that show it, those of the steps that failed open. */
export function evidenceArticle(item: CaseReport, { requirements }: Report, name: string): Markup {
  const { id, outcome, reason, failures, exchanges } = item;
  return html`<article id="${name}">
<h3>${outcomeMark(outcome)} <code>${id}</code></h3>
${reason === "" ? "" : html`<p>${reason}</p>`}
${failures.map((failure) => failureText(failure, requirements))}
${exchanges.map((record) => exchangeDetails(record, item))}
</article>`;
}

function failureText(failure: CaseReport["failures"][number], requirements: Report["requirements"]): Markup {
  const missed = requirements.filter(({ id }) => failure.requirements.includes(id));
  return html`<p class="reason" tabindex="0">${failure.reason}</p>
<ul class="missed">
${missed.map(({ id, behaviour, source }) => html`<li><code>${id}</code> ${behaviour} <small>${sourceLinks(source)}</small></li>`)}
</ul>`;
}

function exchangeDetails(record: ExchangeRecord, item: CaseReport): Markup {
  const { step, requestLine, status } = record;
  return html`<details${isTelling(record, item) ? " open" : ""}>
<summary>Step ${step}: ${requestLine} → ${status || "nothing came back"}</summary>
<div class="exchange">
<figure><figcaption>Sent</figcaption><pre tabindex="0">${sentText(record)}</pre></figure>
<figure><figcaption>Came back</figcaption><pre tabindex="0">${cameText(record)}</pre></figure>
</div>
</details>`;
}

/** Tells whether an exchange shows what a case failed at. */
function isTelling({ step }: ExchangeRecord, { outcome, failures }: CaseReport): boolean {
  return outcome === Outcome.FAILED && failures.some((failure) => [0, step].includes(failure.step));
}
