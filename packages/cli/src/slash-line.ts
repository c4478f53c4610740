import type { SlashCommand } from "@devtool/schema";

/** A slash command as it was typed. */
export interface SlashLine {
  /** Its words; at least one. */
  readonly commandPath: string[];
  /** What was typed after them, as it was typed. */
  readonly args: string;
}

/** Tells whether a line is a slash command: `/word`. A path (`/etc/passwd`) and what begins with `//` are none. */
export function isSlashLine(line: string): boolean {
  return /^\/[^\s/]+(\s|$)/.test(line);
}

/** Tells the words of a command from what is typed after them, by the commands there are. The slash may be missing. */
export function readSlashLine(line: string, known: readonly SlashCommand[]): SlashLine {
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
  return { commandPath: commandWords.map(([word]) => word), args: text.slice(end).trim() };
}
