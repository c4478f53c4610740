import type { AskedToolCall } from "@devtool/client";
import { OPTION_CANCEL, oneLine } from "@devtool/schema";
import { type Choice, choicesFor, VIEW_ALL } from "../choice.ts";
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
export interface QuestionView {
  /** The call and what it would do, as much as fits. */
  readonly lines: readonly string[];
  readonly choices: readonly Choice[];
}

/**
 * Draws a question for a terminal with this number of rows. The first line of
 * the question stays visible.
 */
export function drawQuestion(
  call: AskedToolCall,
  rows: number,
  style: LineStyle,
): QuestionView {
  const request = call.confirmationRequest;
  const offered = request ? choicesFor(request, call) : [];
  const isDeclinable =
    request?.options.some(({ id }) => id === OPTION_CANCEL) ?? false;
  const choices = [...offered, ...(isDeclinable ? [DECLINE_AND_SAY] : [])];
  const lines = drawCall(call, Math.max(6, rows - choices.length - 10), style);
  const isWhole =
    lines.length === drawCall(call, Number.POSITIVE_INFINITY, style).length;
  return { lines, choices: isWhole ? choices : [...choices, VIEW_ALL] };
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
