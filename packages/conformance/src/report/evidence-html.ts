import {
  type CaseReport,
  Outcome,
  type Report,
} from "@devtool/schema/conformance";
import { requestText, responseText } from "./exchange-text.ts";
import { html, type Markup } from "./markup.ts";
import { outcomeMark } from "./outcome-mark.ts";
import { sourceLinks } from "./source-link.ts";

/**
 * Renders a case that did not pass: the requirements not met, and the exchanges
 * as evidence. Those of the failed steps are open.
 */
export function evidenceArticle(
  item: CaseReport,
  { requirements }: Report,
  anchor: string,
): Markup {
  const { id, outcome, reason, failures, exchanges } = item;
  const reasons = failures.map((failure) => {
    const missed = requirements.filter(({ id }) =>
      failure.requirements.includes(id),
    );
    return html`<p class="reason" tabindex="0">${failure.reason}</p>
<ul class="missed">
${missed.map(({ id, behaviour, source }) => html`<li><code>${id}</code> ${behaviour} <small>${sourceLinks(source)}</small></li>`)}
</ul>`;
  });
  const evidence = exchanges.map((record) => {
    const { step, requestLine, status } = record;
    // Step 0 stands for the whole case.
    const isOpen =
      outcome === Outcome.FAILED &&
      failures.some((failure) => [0, step].includes(failure.step));
    return html`<details${isOpen ? " open" : ""}>
<summary>Step ${step}: ${requestLine} → ${status || "no answer"}</summary>
<div class="exchange">
<figure><figcaption>Sent</figcaption><pre tabindex="0">${requestText(record)}</pre></figure>
<figure><figcaption>Came back</figcaption><pre tabindex="0">${responseText(record)}</pre></figure>
</div>
</details>`;
  });
  return html`<article id="${anchor}">
<h3>${outcomeMark(outcome)} <code>${id}</code></h3>
${reason === "" ? "" : html`<p>${reason}</p>`}
${reasons}
${evidence}
</article>`;
}
