import { inspect } from "node:util";
import { oneLine, quotedLines } from "@devtool/internal/visible-text";

/**
 * The maximum number of lines of an error in the log, including its causes and
 * stack.
 */
const MAX_LINES = 60;

/**
 * Formats a notice for the operator as one line.
 *
 * Notices may contain text from outside, such as the output of an MCP server.
 * Control characters are escaped, so that the text can neither change the
 * terminal nor look like another line of the log.
 */
export function noticeLine(text: string): string {
  return `devtool: ${oneLine(text)}`;
}

/**
 * Formats an error for the operator: one line with its message, then its stack,
 * indented.
 */
export function errorLines(reason: unknown): string {
  if (!(reason instanceof Error)) return noticeLine(inspect(reason));
  return `${noticeLine(String(reason))}\n${quotedLines(inspect(reason), MAX_LINES)}`;
}
