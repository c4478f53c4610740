import { Outcome } from "@devtool/schema/conformance";
import { html, type Markup } from "./markup.ts";
import { OUTCOME_WORDS } from "./table.ts";

/** The outcomes in the order in which a person wants to see them. */
export const OUTCOME_ORDER: readonly Outcome[] = [
  Outcome.FAILED,
  Outcome.PASSED_THOUGH_KNOWN,
  Outcome.KNOWN_FAILING,
  Outcome.PASSED,
  Outcome.SKIPPED,
];

/** How an outcome is styled: its class. */
export const OUTCOME_CLASSES: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "skipped",
  [Outcome.PASSED]: "passed",
  [Outcome.FAILED]: "failed",
  [Outcome.SKIPPED]: "skipped",
  [Outcome.KNOWN_FAILING]: "known",
  [Outcome.PASSED_THOUGH_KNOWN]: "failed",
};

const SIGNS: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "?",
  [Outcome.PASSED]: "✓",
  [Outcome.FAILED]: "✗",
  [Outcome.SKIPPED]: "–",
  [Outcome.KNOWN_FAILING]: "≈",
  [Outcome.PASSED_THOUGH_KNOWN]: "!",
};

/** An outcome as a word with a sign; its colour says nothing that they do not. */
export function outcomeMark(outcome: Outcome): Markup {
  return html`<span class="mark ${OUTCOME_CLASSES[outcome]}"><span aria-hidden="true">${SIGNS[outcome]}</span> ${OUTCOME_WORDS[outcome]}</span>`;
}
