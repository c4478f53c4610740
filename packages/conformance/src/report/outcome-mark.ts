import { Outcome } from "../protos.ts";
import { html, type Markup } from "./markup.ts";
import { OUTCOME_NAMES } from "./table.ts";

/**
 * The outcomes, worst first.
 */
export const OUTCOME_ORDER: readonly Outcome[] = [
  Outcome.FAILED,
  Outcome.PASSED_THOUGH_KNOWN,
  Outcome.WARNING,
  Outcome.KNOWN_FAILING,
  Outcome.PASSED,
  Outcome.SKIPPED,
];

/**
 * The CSS class of each outcome.
 */
export const OUTCOME_CLASSES: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "skipped",
  [Outcome.PASSED]: "passed",
  [Outcome.FAILED]: "failed",
  [Outcome.SKIPPED]: "skipped",
  [Outcome.KNOWN_FAILING]: "known",
  [Outcome.PASSED_THOUGH_KNOWN]: "failed",
  [Outcome.WARNING]: "known",
};

const SIGNS: Readonly<Record<Outcome, string>> = {
  [Outcome.UNSPECIFIED]: "?",
  [Outcome.PASSED]: "✓",
  [Outcome.FAILED]: "✗",
  [Outcome.SKIPPED]: "–",
  [Outcome.KNOWN_FAILING]: "≈",
  [Outcome.PASSED_THOUGH_KNOWN]: "!",
  [Outcome.WARNING]: "△",
};

/**
 * Renders an outcome as a sign and a word, so that nothing depends on its
 * colour.
 */
export function outcomeMark(outcome: Outcome): Markup {
  return html`<span class="mark ${OUTCOME_CLASSES[outcome]}"><span aria-hidden="true">${SIGNS[outcome]}</span> ${OUTCOME_NAMES[outcome]}</span>`;
}
