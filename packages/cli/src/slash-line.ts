import type { SlashCommand } from "@devtool/schema";

/** A slash command line, parsed. */
interface SlashLine {
  /** The words of the command; at least one. */
  readonly commandPath: string[];
  /** The text after them. */
  readonly args: string;
}

/**
 * Returns whether a line is a slash command: `/word`, but not a path
 * (`/etc/passwd`) nor `//`.
 */
export function isSlashLine(line: string): boolean {
  return /^\/[^\s/]+(\s|$)/.test(line);
}

/**
 * Splits a line into the words of a known command and the text after them. The
 * slash may be missing.
 */
export function readSlashLine(
  line: string,
  known: readonly SlashCommand[],
): SlashLine {
  const text = line.replace(/^\//, "");
  const words = [...text.matchAll(/\S+/g)];
  let level = known;
  let depth = 0;
  for (const [word] of words) {
    const found = level.find(({ name }) => name === word);
    if (!found) break;
    depth++;
    level = found.subCommands;
  }
  const commandWords = words.slice(0, Math.max(depth, 1));
  const last = commandWords.at(-1);
  const end = last ? last.index + last[0].length : 0;
  return {
    commandPath: commandWords.map(([word]) => word),
    args: text.slice(end).trim(),
  };
}
