import { type CaseReport, Outcome, type Report } from "../protos.ts";
import { requestText, responseText } from "./exchange-text.ts";
import { html, type Markup } from "./markup.ts";
import { outcomeMark } from "./outcome-mark.ts";

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

/**
 * The documents that requirements come from, by the prefix of a source.
 */
const DOCUMENTS: Readonly<Record<string, string>> = {
  "A2A 0.3": "https://a2a-protocol.org/v0.3.0/specification/",
  "A2A 1.0": "https://a2a-protocol.org/v1.0.0/specification/",
  "JSON-RPC 2.0": "https://www.jsonrpc.org/specification",
  ProtoJSON: "https://protobuf.dev/programming-guides/json/",
  RFC: "https://github.com/google-gemini/gemini-cli/blob/13779c46c8b205acd2d44c49a55f822b222a81d6/packages/a2a-server/development-extension-rfc.md",
};

/**
 * Renders the source of a requirement with links to the documents. The source
 * `own` has none.
 */
export function sourceLinks(source: string): Markup {
  const [first = "", ...rest] = source.split("; ");
  return html`${linkPart(first)}${rest.map((part) => html`; ${linkPart(part)}`)}`;
}

function linkPart(part: string): Markup {
  const [, address] =
    Object.entries(DOCUMENTS).find(([name]) => part.startsWith(name)) ?? [];
  return address === undefined
    ? html`${part}`
    : html`<a href="${address}">${part}</a>`;
}
