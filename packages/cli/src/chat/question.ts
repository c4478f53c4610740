import type { AskedToolCall } from "@devtool/client";
import { oneLine } from "@devtool/internal/visible-text";
import { OPTION_CANCEL } from "@devtool/schema";
import { type Choice, choicesFor, shortMenu, VIEW_ALL } from "../choice.ts";
import type { LineStyle } from "../render/style.ts";
import { questionLines, toolCallLine } from "../render/tool-call.ts";
import { diffLines } from "./diff-lines.ts";
import { wrapLine } from "./entry.ts";
import { frameLines } from "./framed-lines.ts";

/** Declines, and tells the agent why. Not an option of the call. */
export const DECLINE_AND_SAY: Choice = {
  key: "d",
  id: OPTION_CANCEL,
  label: "Decline, and say why",
};

/** A question on the screen. */
interface QuestionView {
  /** The call and what it would do, as much as fits. */
  readonly lines: readonly string[];
  readonly choices: readonly Choice[];
  /**
   * How much is in view: all, a part with the whole menu, or less than one can
   * answer by.
   */
  readonly shown: "all" | "part" | "too little";
}

/** Whether a menu that does not fit has its main answers alone, or all. */
export type MenuSize = "main" | "all";

/**
 * Draws a question on at most this number of rows. What does not fit is left
 * out: first the answers beside the main ones, then the middle of the content.
 */
export function drawQuestion(
  call: AskedToolCall,
  rows: number,
  size: MenuSize,
  style: LineStyle,
): QuestionView {
  const request = call.confirmationRequest;
  const offered = request ? choicesFor(request, call) : [];
  const isDeclinable =
    request?.options.some(({ id }) => id === OPTION_CANCEL) ?? false;
  const all = [...offered, ...(isDeclinable ? [DECLINE_AND_SAY] : [])];
  const whole = drawCall(call, Number.POSITIVE_INFINITY, style);
  const left = (choices: readonly Choice[]): number =>
    rows - menuLines(choices, style).length;
  if (whole.length <= left(all)) {
    return { lines: whole, choices: all, shown: "all" };
  }
  const choices = size === "all" ? all : shortMenu(all);
  if (whole.length <= left(choices)) {
    return { lines: whole, choices, shown: "all" };
  }
  const withView = [...choices, VIEW_ALL];
  const lines = cutCall(call, left(withView), style);
  return lines
    ? { lines, choices: withView, shown: "part" }
    : {
        lines: drawCall(call, 1, style).slice(0, 1),
        choices: withView,
        shown: "too little",
      };
}

/**
 * Returns the choices where a question shows too little of itself: to view it,
 * and to decline.
 */
export function viewFirst(choices: readonly Choice[]): readonly Choice[] {
  return [VIEW_ALL, ...choices.filter(({ key }) => key === "n")];
}

/**
 * Returns the lines of a call, at most `maxLines`; undefined where its first
 * ones and one of its content do not fit.
 */
function cutCall(
  call: AskedToolCall,
  maxLines: number,
  style: LineStyle,
): string[] | undefined {
  for (let content = maxLines; content > 0; content--) {
    const lines = drawCall(call, content, style);
    if (lines.length <= maxLines) return lines;
  }
  return undefined;
}

/** Returns the lines of a menu. */
export function menuLines(
  choices: readonly Choice[],
  { paint, columns }: LineStyle,
): string[] {
  return choices.flatMap(({ key, label }) =>
    wrapLine(`  ${paint("heading", `[${key}]`)} ${label}`, columns),
  );
}

/**
 * Returns the lines of a question: the call and what it would do, at most about
 * `maxLines`.
 */
export function drawCall(
  call: AskedToolCall,
  maxLines: number,
  style: LineStyle,
): string[] {
  const { paint, columns } = style;
  const details = call.confirmationRequest?.details;
  const first = wrapLine(toolCallLine(call, paint), columns);
  if (
    details?.case !== "fileEditDetails" ||
    details.value.formattedDiff === undefined
  ) {
    return [
      ...first,
      ...questionLines(call, paint, { screen: { columns }, maxLines }),
    ];
  }
  const path = wrapLine(`    ${oneLine(details.value.filePath)}`, columns);
  return [
    ...first,
    ...path,
    ...frameLines(diffLines(details.value.formattedDiff, paint), {
      columns,
      maxLines,
    }),
  ];
}
