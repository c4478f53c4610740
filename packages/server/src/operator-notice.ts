import { inspect } from "node:util";
import { oneLine, quotedLines } from "@devtool/schema";

/** The maximum number of lines that are shown of an error, causes and stack included. */
const MAX_LINES = 60;

/**
 * Writes a notice for the operator on one line. Notices carry text of MCP servers and of others outside: it cannot
 * change the terminal, nor look like a line of ours.
 */
export function noticeLine(text: string): string {
  return `devtool: ${oneLine(text)}`;
}

/** Writes an error for the operator on one line, with its stack set off below. */
export function errorLines(reason: unknown): string {
  if (!(reason instanceof Error)) return noticeLine(inspect(reason));
  return `${noticeLine(String(reason))}\n${quotedLines(inspect(reason), MAX_LINES)}`;
}
